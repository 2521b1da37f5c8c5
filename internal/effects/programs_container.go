package effects

import "strings"

// containerPrograms are those that work with containers and clusters.
func containerPrograms(name string) (program, bool) {
	switch name {
	case "docker", "podman", "nerdctl":
		return program{options: dockerOptions, style: stops | names, sub: dockerSubcommand}, true
	case "docker-compose", "podman-compose":
		return program{options: composeOptions, style: stops | names, sub: composeSubcommand, more: asCompose}, true
	case "docker-machine", "buildah", "skopeo", "ctr", "crictl":
		return program{options: "f|file=r v|volume=v", style: names}, true
	case "kubectl", "oc", "k3s", "microk8s", "kubecolor", "minikube":
		return program{options: kubectlOptions, style: inherits | names, sub: kubectlSubcommand}, true
	case "helm", "helmfile":
		return program{options: helmOptions, style: inherits | names, sub: helmSubcommand}, true
	case "terraform", "tofu", "terragrunt":
		return program{options: terraformOptions, style: oneDash | inherits | names, sub: terraformSubcommand}, true
	case "ansible-playbook", "ansible", "ansible-vault":
		return program{options: ansiblePlaybookOptions, operands: "r*"}, true
	case "vagrant":
		return program{style: names, sub: func(name string) (string, program) {
			switch name {
			case "ssh":
				return name, program{options: "c|command=s", style: names}
			case "up", "halt", "destroy", "provision", "reload", "status", "box", "init", "plugin", "snapshot",
				"suspend", "resume":
				return name, program{style: names}
			}
			return "", program{}
		}}, true
	case "heroku", "fly", "flyctl", "railway", "vercel", "netlify", "wrangler", "firebase", "supabase", "render", "eb",
		"cf", "sst":
		return program{style: names | dashed, options: "a|app= r|remote= c|config=r C|command=s", more: herokuRun}, true
	}
	return program{}, false
}

const dockerOptions = "" +
	"H|host=U|url c|context|connection= config=r l|log-level= D|debug tls tlscacert=r tlscert=r tlskey=r tlsverify " +
	"v|version root= runroot= storage-driver= identity=r remote n|namespace= address="

const kubectlOptions = "" +
	"n|namespace= context= cluster= user= kubeconfig=r s|server=U token= as= as-group= as-uid= " +
	"certificate-authority=r client-certificate=r client-key=r tls-server-name= request-timeout= cache-dir= v|v=? " +
	"vmodule= log-file=w profile= profile-output=w password= username= insecure-skip-tls-verify match-server-version " +
	"warnings-as-errors"

const helmOptions = "" +
	"n|namespace= kube-context= kubeconfig=r f|values=r set= set-string= set-file=k set-json= version= repo=U " +
	"post-renderer=s registry-config=r repository-cache= repository-config=r kube-apiserver=U kube-token= timeout= " +
	"o|output= username= password= ca-file=r cert-file=r key-file=r keyring=r debug dry-run=? wait atomic install i"

const terraformOptions = "" +
	"chdir=D var= var-file=r state=w state-out=w backup=w out=w target= replace= backend-config=r parallelism= " +
	"lock-timeout= lock= input= refresh= auto-approve json no-color destroy plugin-dir=r compact-warnings"

const ansiblePlaybookOptions = "" +
	"i|inventory=r e|extra-vars=@ l|limit= t|tags= skip-tags= u|user= private-key|key-file=r vault-password-file=r " +
	"vault-id= a|args=c m|module-name= M|module-path= f|forks= T|timeout= c|connection= b K k C D v"

// dockerSubcommand is what is known of a subcommand of docker, or of "docker container".
func dockerSubcommand(name string) (string, program) {
	switch name {
	case "container": // docker container run is docker run
		return passedOver, program{style: names | stops, sub: dockerSubcommand}
	case "service":
		return name, program{style: names | stops, sub: func(name string) (string, program) {
			if name == "create" {
				return name, program{options: dockerRunOptions + dockerServiceOptions, operands: "-x", style: stops}
			}
			return dockerManaged(name)
		}}
	case "secret", "config":
		return name, program{style: names | stops, sub: func(name string) (string, program) {
			if name == "create" {
				return name, program{options: "d|driver= l|label= template-driver= replace env", operands: "-r"}
			}
			return dockerManaged(name)
		}}
	case "image", "volume", "network", "system", "context", "builder", "plugin", "stack", "swarm",
		"node", "manifest", "trust", "checkpoint", "machine", "pod", "kube", "generate", "model", "scout":
		return name, program{style: names | stops, sub: dockerManaged}
	case "buildx":
		return name, program{style: names | stops, options: "builder=", sub: dockerManaged}
	case "compose":
		return name, program{options: composeOptions, style: names | stops, sub: composeSubcommand}
	case "run", "create":
		return name, program{options: dockerRunOptions, operands: "-x", style: stops, more: entrypoint}
	case "exec":
		return name, program{options: dockerExecOptions, operands: "-x", style: stops}
	case "build":
		return name, program{options: dockerBuildOptions, operands: "r"}
	case "cp":
		return name, program{options: "a|archive L|follow-link q|quiet", operands: "lL", more: dockerCopy}
	case "save", "export":
		return name, program{options: "o|output=w", style: names}
	case "load", "import":
		return name, program{options: "i|input=r c|change= m|message= platform=", operands: importOperands(name)}
	}
	if dockerOther(name) {
		return name, program{style: names, options: "f|filter|force|follow= since= until= tail|n="}
	}
	return "", program{}
}

const dockerServiceOptions = "replicas= constraint= mode= limit-cpu= limit-memory= config= update-delay="

const dockerExecOptions = "" +
	"e|env= env-file=r u|user= w|workdir= detach-keys= d|detach i|interactive t|tty privileged l|latest"

const dockerBuildOptions = "" +
	"f|file=r t|tag= build-arg= target= o|output= cache-from= cache-to= platform= label= network= add-host= secret=V " +
	"ssh= iidfile=w progress= metadata-file=w build-context=k cgroup-parent= m|memory= c|cpu-shares= cpuset-cpus= " +
	"shm-size= ulimit= isolation= security-opt= builder= attest= annotation= no-cache pull push load q|quiet rm " +
	"force-rm compress squash v|volume=v"

func importOperands(name string) string {
	if name == "import" {
		return "r-"
	}
	return ""
}

// dockerManaged are the subcommands of "docker image" and its like.
func dockerManaged(name string) (string, program) {
	switch name {
	case "build":
		return dockerSubcommand("build")
	case "save", "load", "import", "run":
		return dockerSubcommand(name)
	case "ls", "list", "rm", "remove", "prune", "inspect", "create", "pull", "push", "tag", "history", "connect",
		"disconnect", "df", "info", "events", "use", "show", "update", "scale", "ps", "logs", "init", "join", "leave",
		"deploy", "config", "rollback", "enable", "disable", "install", "export", "imagetools", "bake", "du", "stop",
		"start", "version", "inspect-", "promote":
		p := program{style: names}
		if name == "deploy" || name == "bake" {
			p.options = "c|compose-file=r f|file=r"
		}
		return name, p
	}
	return "", program{}
}

// dockerOther reports whether a subcommand is one of which nothing is to be said but that it exists.
func dockerOther(name string) bool {
	switch name {
	case "ps", "images", "pull", "push", "rm", "rmi", "logs", "stop", "start", "restart", "kill", "inspect", "tag",
		"login", "logout", "search", "version", "info", "events", "history", "commit", "diff", "attach", "pause",
		"unpause", "port", "rename", "stats", "top", "update", "wait", "init", "debug", "help", "ls", "list", "prune":
		return true
	}
	return false
}

// dockerRunOptions are those of docker run 27 that take values, and the short ones without.
const dockerRunOptions = "" +
	"v|volume=v mount=V e|env= env-file=r entrypoint= name= network|net= p|publish= u|user= w|workdir= h|hostname= " +
	"l|label= label-file=r m|memory= c|cpu-shares= cpus= cpuset-cpus= cpuset-mems= a|attach= add-host= annotation= " +
	"blkio-weight= cap-add= cap-drop= cgroup-parent= cgroupns= cidfile=w cpu-period= cpu-quota= detach-keys= device= " +
	"device-cgroup-rule= dns= dns-option= dns-search= domainname= expose= gpus= group-add= health-cmd= " +
	"health-interval= health-retries= health-start-period= health-timeout= ip= ip6= ipc= isolation= kernel-memory= " +
	"link= link-local-ip= log-driver= log-opt= mac-address= memory-reservation= memory-swap= memory-swappiness= " +
	"network-alias= oom-score-adj= pid= pids-limit= platform= pull= restart= runtime= security-opt= shm-size= " +
	"stop-signal= stop-timeout= storage-opt= sysctl= tmpfs= ulimit= userns= uts= volume-driver= volumes-from= pod= " +
	"secret= d|detach i|interactive t|tty P|publish-all q|quiet rm init privileged read-only oom-kill-disable " +
	"no-healthcheck sig-proxy=? replace"

// entrypoint judges "docker run --entrypoint PROGRAM IMAGE ARGUMENTS…".
func entrypoint(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "entrypoint" && t.value.Text != "" && len(c.places) > 0 {
			c.startWords(append([]Word{t.value}, c.words[c.places[0]+1:]...)...)
			c.shape = ""
		}
	}
}

// dockerCopy judges CONTAINER:PATH, which is no host.
func dockerCopy(c *call) {
	c.shape = ""
	for i, w := range c.operands {
		if _, _, inside := remotePath(w.Text); !inside {
			c.use("rw"[min(i, 1)], w)
		}
	}
}

// composeOptions are those of docker compose.
const composeOptions = "" +
	"f|file=r p|project-name= project-directory=D profile= env-file=r parallel= ansi= progress= compatibility dry-run " +
	"all-resources verbose H|host="

// composeSubcommand is what is known of a subcommand of docker compose.
func composeSubcommand(name string) (string, program) {
	switch name {
	case "run":
		return name, program{options: composeRunOptions, operands: "-x", style: stops, more: entrypoint}
	case "exec":
		return name, program{options: composeExecOptions, operands: "-x", style: stops}
	case "cp":
		return name, program{operands: "lL", more: dockerCopy, options: "index= a|archive L|follow-link"}
	case "up", "down", "build", "ps", "logs", "pull", "push", "restart", "start", "stop", "rm", "config", "create",
		"kill", "images", "ls", "top", "port", "events", "pause", "unpause", "version", "watch", "wait", "stats",
		"attach", "scale", "convert", "publish", "export", "commit", "volumes":
		return name, program{style: names, options: "t|timeout= scale= o|output=w"}
	}
	return "", program{}
}

const composeRunOptions = "" +
	"e|env= env-from-file=r entrypoint= name= u|user= w|workdir= v|volume=v p|publish= l|label= cap-add= cap-drop= " +
	"pull= build d|detach i|interactive T|no-TTY rm no-deps service-ports|P use-aliases q|quiet-pull remove-orphans " +
	"quiet"

const composeExecOptions = "e|env= index= u|user= w|workdir= d|detach T|no-TTY privileged i t"

// asCompose makes "docker compose" of docker-compose.
func asCompose(c *call) {
	program, _, _ := strings.Cut(c.program, "-")
	c.startWords(append([]Word{{Text: program}, {Text: "compose"}}, c.words[1:]...)...)
	c.shape, c.invocation.operands = "", nil
}

// kubectlSubcommand is what is known of a subcommand of kubectl.
func kubectlSubcommand(name string) (string, program) {
	const files = kubectlCommandOptions
	switch name {
	case "kubectl": // minikube kubectl -- get pods
		return name, program{style: dashed}
	case "exec":
		return name, program{options: kubectlExecOptions, style: dashed, operands: "-*", more: kubectlExec}
	case "run":
		return name, program{options: kubectlRunOptions, style: dashed, operands: "-*"}
	case "debug":
		return name, program{options: kubectlDebugOptions, style: dashed, operands: "-*"}
	case "cp":
		return name, program{options: "c|container= retries= no-preserve=?", operands: "lL", more: dockerCopy}
	case "create", "apply", "delete", "replace", "patch", "edit", "diff", "get", "describe", "label", "annotate",
		"scale", "expose", "set", "autoscale", "wait", "kustomize", "convert":
		return name, program{options: files + kubectlObjectOptions, operands: kubectlOperands(name), style: names}
	case "rsh": // oc rsh POD COMMAND…
		return name, program{options: "c|container= shell= t T", operands: "-x", style: stops}
	case "ssh": // minikube ssh COMMAND…
		return name, program{options: "node=", more: joinedText, style: stops}
	case "logs", "attach", "port-forward", "top", "rollout", "drain", "cordon", "uncordon", "taint", "auth", "config",
		"cluster-info", "version", "api-resources", "api-versions", "explain", "completion", "proxy", "plugin",
		"certificate", "events", "options", "start", "stop", "status", "dashboard", "ip", "service", "addons", "login",
		"logout", "project", "new-project", "whoami", "ctx", "ns", "adm":
		return name, program{options: files + kubectlLogOptions, style: names}
	}
	return "", program{}
}

const kubectlCommandOptions = "" +
	"f|filename=r k|kustomize=r R|recursive l|selector= field-selector= o|output= field-manager= grace-period= " +
	"timeout= template= sort-by= show-labels A|all-namespaces w|watch force all now cascade=? dry-run=? wait=? " +
	"overwrite prune server-side=? ignore-not-found=? subresource= "

const kubectlExecOptions = "c|container= f|filename=r pod-running-timeout= i|stdin t|tty q|quiet"

const kubectlRunOptions = "" +
	"image= env= l|labels= overrides= port= restart= image-pull-policy= override-type= annotations= " +
	"pod-running-timeout= o|output= command=? expose=? i|stdin=? t|tty=? rm=? attach=? q|quiet privileged dry-run=? " +
	"leave-stdin-open=?"

const kubectlDebugOptions = "image= target= c|container= copy-to= profile= env= share-processes i t"

// kubectlObjectOptions are those of create, apply and their like, kubectlLogOptions those of logs and its like.
const (
	kubectlObjectOptions = "from-file=k from-env-file=r from-literal= docker-username= docker-password= cert=r key=r " +
		"image= p|patch= patch-file=r type= c|container= replicas= port= for= schedule= class= rule= save-config min= " +
		"max= as-deployment"
	kubectlLogOptions = "c|container= tail= since= since-time= p|previous follow address= port= pod-selector= " +
		"max-log-requests= all-containers prefix timestamps delete-emptydir-data ignore-daemonsets"
)

func kubectlOperands(name string) string {
	if name == "kustomize" {
		return "r"
	}
	return ""
}

// kubectlExec judges "kubectl exec POD COMMAND…" without the dashes, as it was.
func kubectlExec(c *call) {
	if c.dashes == 0 && len(c.places) > 1 {
		c.start(c.places[1])
	}
}

// helmSubcommand is what is known of a subcommand of helm.
func helmSubcommand(name string) (string, program) {
	switch name {
	case "install", "upgrade", "template", "uninstall", "delete", "rollback", "list", "ls", "status", "history", "get",
		"show", "pull", "push", "repo", "search", "dependency", "dep", "lint", "package", "create", "test", "verify",
		"version", "env", "plugin", "registry", "diff", "apply", "sync", "destroy", "secrets":
		return name, program{style: names}
	}
	return "", program{}
}

// terraformSubcommand is what is known of a subcommand of terraform.
func terraformSubcommand(name string) (string, program) {
	switch name {
	case "apply":
		return name, program{operands: "r", style: names}
	case "init", "plan", "destroy", "validate", "fmt", "show", "output", "import", "state", "workspace", "refresh",
		"taint", "untaint", "graph", "providers", "console", "force-unlock", "get", "login", "logout", "test",
		"version", "metadata", "run-all", "hclfmt":
		return name, program{style: names}
	}
	return "", program{}
}

// herokuRun judges "heroku run COMMAND…", which a shell on another host reads.
func herokuRun(c *call) {
	if len(c.operands) > 1 && (c.operands[0].Text == "run" || c.operands[0].Text == "run:detached") && c.dashes == 0 {
		c.textFrom(1)
	}
}
