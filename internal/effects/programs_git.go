package effects

import "strings"

// gitProgram is git 2.47. Its subcommands are also programs of their own, git-push.
func gitProgram() program {
	return program{
		options: gitOptions, style: stops | names,
		sub:  gitSubcommand,
		more: gitConfig,
	}
}

const gitOptions = "" +
	"C=D c= config-env= git-dir=r work-tree= exec-path=?E namespace= super-prefix= list-cmds= attr-source= p|paginate " +
	"P|no-pager no-replace-objects bare literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs " +
	"no-optional-locks no-lazy-fetch no-advice version|v help|h html-path man-path info-path"

// dashedGit is git-push and its like, which are in the folder of git's own programs.
func dashedGit(name string) (program, bool) {
	sub, found := strings.CutPrefix(name, "git-")
	if usual, _ := gitSubcommand(sub); !found || usual == "" {
		return program{}, false
	}
	return program{style: stops | names, more: func(c *call) {
		c.startWords(append([]Word{{Text: "git"}, {Text: sub}}, c.words[1:]...)...)
		c.shape = ""
	}}, true
}

// gitSubcommand is what is known of a subcommand of git.
func gitSubcommand(name string) (string, program) {
	if name == "stage" {
		name = "add"
	}
	p, ok := gitFiles(name)
	if !ok {
		p, ok = gitHistory(name)
	}
	if !ok {
		p, ok = gitRemote(name)
	}
	if !ok && !gitOther(name) {
		return "", program{}
	}
	more := p.more
	p.more = func(c *call) {
		gitConfig(c)
		if more != nil {
			more(c)
		}
	}
	return name, p
}

// gitFiles are the subcommands that work on the files of the working tree.
func gitFiles(name string) (program, bool) {
	switch name {
	case "add":
		return program{options: gitAddOptions, operands: "g*"}, true
	case "rm":
		return program{options: gitRmOptions, operands: "w*", more: gitCached}, true
	case "mv":
		return program{options: "f|force k n|dry-run v|verbose sparse", operands: "m*w", more: intoFolder}, true
	case "checkout":
		return program{options: gitCheckoutOptions, operands: "", more: gitCheckout}, true
	case "restore":
		return program{options: gitRestoreOptions, operands: "d*"}, true
	case "clean":
		return program{options: "d f|force i|interactive n|dry-run q|quiet e|exclude= x X", operands: "d*", more: gitCleans}, true
	case "apply":
		return program{options: gitApplyOptions, operands: "r*", more: patchStdin}, true
	case "am":
		return program{options: gitAmOptions, operands: "r*"}, true
	case "blame", "annotate":
		return program{options: gitBlameOptions, operands: "g*"}, true
	case "hash-object":
		return program{options: "t= w stdin stdin-paths no-filters path= literally", operands: "r*", more: gitHashes}, true
	case "update-index", "stash":
		if name == "stash" {
			return program{style: inherits, options: gitStashOptions, sub: gitStash, operands: "m*"}, true
		}
		return program{options: gitUpdateIndexOptions, operands: "r*"}, true
	case "commit":
		return program{options: gitCommitOptions, operands: "g*"}, true
	case "grep":
		return program{options: gitGrepOptions, operands: "-g*", more: gitGrepPager}, true
	case "sparse-checkout", "check-ignore", "check-attr", "ls-files", "ls-tree", "status":
		return program{style: names, options: gitSparseCheckoutOptions}, true
	case "interpret-trailers":
		return program{options: "in-place^w where= if-exists= if-missing= trailer= trim-empty only-trailers", operands: "r*"}, true
	case "merge-file":
		return program{options: "L= p|stdout diff3 marker-size= q", operands: "brr"}, true
	}
	return program{}, false
}

const gitAddOptions = "" +
	"A|all|no-ignore-removal n|dry-run v|verbose i|interactive p|patch e|edit f|force u|update N|intent-to-add " +
	"refresh ignore-errors ignore-missing renormalize chmod= sparse pathspec-from-file=r pathspec-file-nul"

const gitRmOptions = "" +
	"f|force n|dry-run r^d cached q|quiet ignore-unmatch sparse pathspec-from-file=r pathspec-file-nul"

const gitCheckoutOptions = "" +
	"b=:-* B=:-* orphan=:-* t|track=? q|quiet f|force d|detach m|merge p|patch l conflict= ours theirs guess no-guess " +
	"pathspec-from-file=r pathspec-file-nul progress no-track recurse-submodules=? overlay no-overlay " +
	"ignore-other-worktrees ignore-skip-worktree-bits overwrite-ignore"

const gitRestoreOptions = "" +
	"s|source= S|staged W|worktree p|patch q|quiet m|merge conflict= ours theirs ignore-unmerged progress overlay " +
	"no-overlay pathspec-from-file=r pathspec-file-nul recurse-submodules=?"

const gitApplyOptions = "" +
	"p= C= directory=w exclude= include=w build-fake-ancestor=w whitespace= 3|3way R|reverse v|verbose check stat " +
	"numstat summary index cached N|intent-to-add unidiff-zero inaccurate-eof recount z apply reject q|quiet"

const gitAmOptions = "" +
	"p= C= directory= exclude= include= whitespace= patch-format= S|gpg-sign=? s|signoff k|keep 3|3way q|quiet " +
	"i|interactive R|resolved|continue skip abort quit show-current-patch=?"

const gitBlameOptions = "" +
	"L= l t S= reverse=? first-parent p|porcelain line-porcelain incremental contents=r date= M=? C=? ignore-rev= " +
	"ignore-revs-file=r c b root show-stats score-debug f|show-name n|show-number s e|show-email w abbrev=?"

const gitUpdateIndexOptions = "" +
	"add remove refresh chmod= cacheinfo= index-info assume-unchanged no-assume-unchanged skip-worktree " +
	"no-skip-worktree q force-remove z stdin"

const gitCommitOptions = "" +
	"m|message= F|file=r t|template=r C|reuse-message= c|reedit-message= fixup= squash= author= date= cleanup= " +
	"trailer= S|gpg-sign=? u|untracked-files=? a|all p|patch amend no-edit e|edit n|no-verify verify s|signoff " +
	"v|verbose q|quiet o|only i|include allow-empty allow-empty-message reset-author short branch porcelain long " +
	"z|null dry-run status no-status no-gpg-sign no-post-rewrite pathspec-from-file=r pathspec-file-nul"

const gitGrepOptions = "" +
	"e=-! f=r! A|after-context= B|before-context= C|context= m|max-count= max-depth= O|open-files-in-pager=?s " +
	"threads= cached no-index untracked i|ignore-case v|invert-match w|word-regexp x E|extended-regexp P|perl-regexp " +
	"G|basic-regexp F|fixed-strings n|line-number column h H l|files-with-matches|name-only L|files-without-match " +
	"c|count color=? no-color heading p|show-function W|function-context and or not all-match q|quiet " +
	"recurse-submodules parent-basename a|text I r|recursive z|null o|only-matching textconv break"

const gitSparseCheckoutOptions = "" +
	"s|short b|branch u|untracked-files=? ignored=? porcelain=? long v|verbose z x|exclude= X|exclude-from=r o|others " +
	"c|cached d|deleted m|modified i|ignored t f format= error-unmatch exclude-standard with-tree= r l n"

// gitDiffOptions are those options of diff and log that take values.
const gitDiffOptions = "" +
	"U|unified= output=w o|output-directory=w O=r S= G= L= n|max-count= l= inter-hunk-context= diff-filter= " +
	"word-diff-regex= word-diff=? stat=? dirstat=? submodule=? src-prefix= dst-prefix= line-prefix= anchored= " +
	"diff-algorithm= color=? color-words=? color-moved=? abbrev=? M|find-renames=? C|find-copies=? B|break-rewrites=? " +
	"ignore-submodules=? relative=? ws-error-highlight= skip-to= rotate-to= find-object= grep= author= committer= " +
	"since|after= until|before= skip= format|pretty=? date= decorate=? decorate-refs= decorate-refs-exclude= glob=? " +
	"exclude= branches=? tags=? remotes=? min-parents= max-parents= encoding= show-signature show-notes=? notes=? " +
	"grep-reflog= p|u|patch s|no-patch raw numstat shortstat summary name-only name-status patch-with-stat " +
	"compact-summary minimal patience histogram indent-heuristic cached|staged merge-base exit-code quiet z " +
	"full-index binary R a|text b w W|function-context ext-diff no-ext-diff textconv no-textconv no-index oneline " +
	"graph all follow reverse first-parent merges no-merges no-renames no-color no-prefix i|regexp-ignore-case " +
	"E|extended-regexp F|fixed-strings P|perl-regexp cc c m simplify-by-decoration topo-order date-order left-right " +
	"cherry-pick cherry-mark cherry boundary stdin abbrev-commit no-abbrev-commit parents children full-history " +
	"walk-reflogs|g v|verbose q"

// gitHistory are the subcommands that show or rewrite what was committed.
func gitHistory(name string) (program, bool) {
	switch name {
	case "diff", "show", "difftool", "range-diff", "diff-tree", "diff-index", "diff-files", "format-patch":
		p := program{options: gitDiffOptions, operands: "g*"}
		switch name {
		case "difftool":
			p.options = gitDifftoolOptions + gitDiffOptions
		case "format-patch":
			p.options, p.operands = gitFormatPatchOptions+gitDiffOptions, ""
		}
		return p, true
	case "log", "whatchanged", "shortlog", "reflog", "rev-list":
		return program{options: gitDiffOptions, operands: "", more: gitLogPatch}, true
	case "cat-file":
		return program{options: gitCatFileOptions, operands: "g*"}, true
	case "archive":
		return program{options: gitArchiveOptions, operands: "-g*"}, true
	case "rebase":
		return program{options: gitRebaseOptions, operands: ""}, true
	case "bisect":
		return program{style: stops, operands: "", more: gitBisect}, true
	case "filter-branch":
		return program{options: gitFilterBranchOptions, operands: ""}, true
	case "filter-repo":
		return program{options: gitFilterRepoOptions, operands: ""}, true
	case "reset":
		return program{options: gitResetOptions, operands: ""}, true
	case "tag":
		return program{options: gitTagOptions}, true
	case "branch":
		return program{options: gitBranchOptions}, true
	case "merge", "cherry-pick", "revert", "pull":
		return program{options: gitMergeOptions, operands: pullOperands(name)}, true
	case "notes":
		return program{options: gitNotesOptions}, true
	case "worktree":
		return program{style: inherits, sub: gitWorktree, options: gitWorktreeOptions}, true
	case "submodule":
		return program{options: "q|quiet cached", style: stops, more: gitSubmodule}, true
	}
	return program{}, false
}

const gitDifftoolOptions = "x|extcmd=s t|tool= d|dir-diff y|no-prompt prompt g|gui tool-help trust-exit-code "

const gitFormatPatchOptions = "" +
	"v|reroll-count= subject-prefix= suffix= to= cc= in-reply-to= base= start-number= signature= signature-file=r " +
	"cover-letter thread=? attach=? inline=? stdout k N numbered "

const gitCatFileOptions = "" +
	"p t e s textconv filters path= batch=? batch-check=? batch-command=? batch-all-objects buffer follow-symlinks " +
	"unordered Z z allow-unknown-type filter="

const gitArchiveOptions = "" +
	"format= l|list v|verbose prefix= add-file=r add-virtual-file= o|output=w worktree-attributes remote=u exec=s"

const gitRebaseOptions = "" +
	"x|exec=s onto= s|strategy= X|strategy-option= C= whitespace= S|gpg-sign=? i|interactive m|merge continue skip " +
	"abort quit edit-todo show-current-patch keep-base root autosquash no-autosquash autostash no-autostash " +
	"fork-point r|rebase-merges=? update-refs empty= q|quiet v|verbose n|no-stat stat f|force-rebase|no-ff " +
	"committer-date-is-author-date signoff no-verify verify"

const gitFilterBranchOptions = "" +
	"setup=s env-filter=s tree-filter=s index-filter=s parent-filter=s msg-filter=s commit-filter=s tag-name-filter=s " +
	"subdirectory-filter= original= d=w state-branch= f|force prune-empty remap-to-ancestor"

const gitFilterRepoOptions = "" +
	"path= paths-from-file=r replace-text=r replace-message=r mailmap=r blob-callback=c commit-callback=c " +
	"message-callback=c name-callback=c email-callback=c refname-callback=c filename-callback=c tag-callback=c " +
	"reset-callback=c source=r target=w force invert-paths path-glob= path-regex= subdirectory-filter= " +
	"to-subdirectory-filter= strip-blobs-bigger-than="

const gitResetOptions = "" +
	"hard soft mixed keep merge N|intent-to-add p|patch q|quiet no-quiet refresh no-refresh recurse-submodules=? " +
	"pathspec-from-file=r pathspec-file-nul"

const gitTagOptions = "" +
	"m|message= F|file=r u|local-user= n=? sort= format= contains=? no-contains=? points-at= merged=? no-merged=? " +
	"column=? color=? cleanup= trailer= a|annotate s|sign no-sign f|force d|delete v|verify l|list i|ignore-case " +
	"create-reflog e|edit"

const gitBranchOptions = "" +
	"u|set-upstream-to= contains=? no-contains=? merged=? no-merged=? points-at= sort= format= column=? color=? " +
	"abbrev=? t|track=? d|delete D f|force m|move M c|copy C r|remotes a|all l|list v|verbose q|quiet " +
	"edit-description unset-upstream show-current i|ignore-case create-reflog recurse-submodules no-track no-color"

const gitMergeOptions = "" +
	"m|message|mainline= F|file=r s|strategy= X|strategy-option= S|gpg-sign=? cleanup= into-name= log=? abort " +
	"continue skip quit n|no-stat|no-commit commit e|edit no-edit ff no-ff ff-only squash no-squash verify no-verify " +
	"signoff autostash allow-unrelated-histories x keep-redundant-commits allow-empty r|rebase=? no-rebase depth= " +
	"deepen= upload-pack=s f|force t|tags p|prune j|jobs= a|append q|quiet v|verbose no-tags all recurse-submodules=? " +
	"shallow-since= o|server-option= negotiation-tip= 4|ipv4 6|ipv6 k|keep u|update-head-ok set-upstream stat " +
	"progress dry-run unshallow"

const gitNotesOptions = "m|message= F|file=r C|reuse-message= c|reedit-message= ref= f|force"

const gitWorktreeOptions = "" +
	"f|force b= B= d|detach checkout no-checkout lock reason= orphan q|quiet track guess-remote porcelain n|dry-run " +
	"v|verbose expire="

func pullOperands(name string) string {
	if name == "pull" {
		return "u-*"
	}
	return ""
}

// gitRemote are the subcommands that speak with other repositories.
func gitRemote(name string) (program, bool) {
	switch name {
	case "push":
		return program{options: gitPushOptions, operands: "u-*"}, true
	case "fetch":
		return program{options: gitFetchOptions, operands: "u-*"}, true
	case "clone":
		return program{options: gitCloneOptions, operands: "uw"}, true
	case "init":
		return program{options: gitInitOptions, operands: "w"}, true
	case "ls-remote":
		return program{options: gitLsRemoteOptions, operands: "u-*"}, true
	case "fetch-pack", "send-pack":
		return program{options: "exec|upload-pack|receive-pack=s depth=", operands: "u-*"}, true
	case "remote":
		return program{options: gitRemoteOptions, style: names, more: gitRemoteURL}, true
	case "config":
		return program{options: gitConfigOptions, style: names, more: gitSetting}, true
	case "for-each-repo":
		return program{options: "config=", style: stops | names, more: gitEachRepo}, true
	case "instaweb":
		return program{options: "d|httpd=s b|browser=s p|port= m|module-path= l|local", style: names}, true
	case "credential-store":
		return program{options: "file=b", style: names}, true
	case "commit-tree":
		return program{options: "F=r m= p= S=?", style: names}, true
	case "daemon", "http-backend", "upload-pack", "receive-pack", "upload-archive":
		return program{options: "base-path=r export-all port= listen=", operands: "r*"}, true
	case "send-email":
		return program{options: gitSendEmailOptions, operands: "r*"}, true
	case "bundle":
		return program{operands: "-w-*", style: names}, true
	}
	return program{}, false
}

const gitPushOptions = "" +
	"f|force force-with-lease=? force-if-includes no-force-with-lease no-force n|dry-run porcelain d|delete mirror " +
	"all|branches tags follow-tags no-follow-tags u|set-upstream prune thin no-thin repo=u receive-pack|exec=s " +
	"o|push-option= signed=? atomic no-atomic q|quiet v|verbose progress no-verify verify recurse-submodules=? 4|ipv4 " +
	"6|ipv6"

const gitFetchOptions = "" +
	"upload-pack=s depth= deepen= shallow-since= shallow-exclude= o|server-option= j|jobs= refmap= negotiation-tip= " +
	"recurse-submodules=? filter= all a|append f|force k|keep m|multiple n|no-tags t|tags p|prune P|prune-tags " +
	"q|quiet v|verbose u|update-head-ok unshallow set-upstream dry-run atomic progress 4|ipv4 6|ipv6 " +
	"no-recurse-submodules auto-gc auto-maintenance"

const gitCloneOptions = "" +
	"u|upload-pack=s b|branch= o|origin= c|config= depth= j|jobs= reference=r reference-if-able=r separate-git-dir=w " +
	"server-option= shallow-since= shallow-exclude= template=E filter= bundle-uri=u revision= " +
	"recurse-submodules|recursive=? l|local s|shared q|quiet v|verbose n|no-checkout bare mirror single-branch " +
	"no-single-branch no-tags no-hardlinks dissociate progress sparse shallow-submodules remote-submodules " +
	"reject-shallow 4 6"

const gitInitOptions = "" +
	"template=E separate-git-dir=w b|initial-branch= object-format= ref-format= shared=? q|quiet bare"

const gitLsRemoteOptions = "" +
	"upload-pack|exec=s o|server-option= sort= h|heads|branches t|tags refs get-url symref q|quiet exit-code"

const gitRemoteOptions = "t= m= f tags no-tags mirror=? v|verbose push add delete all p|prune n|dry-run"

const gitConfigOptions = "" +
	"f|file=b blob= type= default= e|edit global system local worktree get get-all get-regexp get-urlmatch add unset " +
	"unset-all replace-all rename-section remove-section l|list show-origin show-scope z|null name-only includes bool " +
	"int path expiry-date comment= value= fixed-value all regexp url="

const gitSendEmailOptions = "" +
	"to= cc= bcc= from= subject= smtp-server= smtp-user= smtp-pass= smtp-server-port= sendmail-cmd=s to-cmd=s " +
	"cc-cmd=s header-cmd=s compose annotate dry-run"

// gitOther reports whether a subcommand is one of which nothing is to be said but that it exists.
func gitOther(name string) bool {
	switch name {
	case "switch", "describe", "rev-parse", "gc", "fsck", "prune", "repack", "count-objects", "maintenance",
		"name-rev", "show-ref", "show-branch", "for-each-ref", "symbolic-ref", "update-ref",
		"merge-base", "merge-tree", "mergetool", "rerere", "verify-commit", "verify-tag", "version",
		"help", "var", "whatchanged", "cherry", "replace", "lfs", "flow", "gui", "citool", "gitk",
		"request-pull", "pack-objects", "pack-refs", "unpack-objects", "index-pack", "read-tree", "write-tree",
		"commit-graph", "multi-pack-index", "mktag", "mktree", "patch-id", "credential",
		"credential-cache", "mailinfo", "mailsplit", "checkout-index",
		"check-ref-format", "check-mailmap", "column", "stripspace", "diagnose", "bugreport", "fast-export",
		"fast-import", "svn", "p4", "cvsimport", "subtree", "scalar", "absorb", "town", "machete", "refs", "backfill",
		"last-modified", "repo", "history", "verify-pack", "show-index", "get-tar-commit-id", "hook":
		return true
	}
	return false
}

// gitStash are the subcommands of stash.
func gitStash(name string) (string, program) {
	switch name {
	case "push", "save", "":
		return name, program{options: gitStashOptions, operands: stashOperands(name)}
	case "show", "list":
		return name, program{options: gitDiffOptions + " include-untracked only-untracked"}
	case "pop", "apply", "drop", "clear", "branch", "create", "store":
		return name, program{options: "index q|quiet m|message="}
	}
	return "", program{}
}

const gitStashOptions = "" +
	"m|message= p|patch S|staged k|keep-index no-keep-index u|include-untracked a|all q|quiet pathspec-from-file=r " +
	"pathspec-file-nul"

func stashOperands(name string) string {
	if name == "push" {
		return "m*"
	}
	return "" // save takes a message
}

// gitCached leaves the files alone where only the index changes.
func gitCached(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "cached" || strings.HasPrefix(t.names, "n|")) {
			c.shape, c.also = "", ""
		}
	}
}
