package upstream

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// lookPath finds the program that command names, in the PATH of env and not in ours. A name with a slash is taken as it
// is. Folders that are not absolute are passed over: what they mean depends on where we are.
func lookPath(command string, env []string) (string, error) {
	if command == "" {
		return "", fmt.Errorf("the server has no command")
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		return command, nil
	}
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ending := range endings(env) {
			name := filepath.Join(dir, command+ending)
			if info, err := os.Stat(name); err == nil && runnable(info) {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("no program %q in the PATH of the server's environment; name it by its full path", command)
}

// variable returns the value of a variable in env, where the last one counts.
func variable(env []string, name string) string {
	value := ""
	for _, entry := range env {
		key, v, _ := strings.Cut(entry, "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			value = v
		}
	}
	return value
}

// endings are what a program's file name may have behind the command's name.
func endings(env []string) []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	known := variable(env, "PATHEXT")
	if known == "" {
		known = ".COM;.EXE;.BAT;.CMD"
	}
	return append([]string{""}, strings.Split(known, ";")...)
}

func runnable(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}
