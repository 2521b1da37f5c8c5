package pretool

import "strings"

// extensionSkills are the skills for files by their extension.
var extensionSkills = map[string]string{
	".java":       "java-spring-boot-microservices",
	".kt":         "kotlin-core",
	".py":         "python-core",
	".ts":         "typescript-core",
	".tsx":        "react-core",
	".jsx":        "react-core",
	".js":         "javascript-core",
	".swift":      "swiftui-core",
	".xml":        "android-xml-ui",
	".css":        "css-core",
	".scss":       "css-core",
	".html":       "html5-core",
	".sql":        "rdbms-core",
	".yml":        "docker",
	".yaml":       "kubernetes",
	".tf":         "kubernetes",
	".json":       "json-core",
	".graphql":    "graphql-core",
	".dockerfile": "docker",
}

// nameSkills are the skills for files by their whole name.
var nameSkills = map[string]string{
	"dockerfile":  "docker",
	".dockerfile": "docker",
	"jenkinsfile": "jenkins-pipeline",
}

// suggestSkill returns the extension of a path, lower-case with its dot, and the skill for the file; "" where there is
// none. Slashes go either way. own holds a project's skills, which come first: its keys are extensions with their dot,
// which may have several (".d.ts"), or whole names of files; their case does not matter.
func suggestSkill(path string, own map[string]string) (ext, skill string) {
	name := strings.ToLower(baseName(path))
	ext = extension(name)
	best := ""
	for key, value := range own {
		key = strings.ToLower(key)
		fits := key == name || strings.HasPrefix(key, ".") && strings.HasSuffix(strings.TrimLeft(name, "."), key)
		// The longest key says most. Keys that differ in case alone are told apart by what they say, so that the
		// answer is always the same.
		if fits && (len(key) > len(best) || key == best && value < skill) {
			best, skill = key, value
		}
	}
	if best != "" {
		return ext, skill
	}
	if skill, ok := nameSkills[name]; ok {
		return ext, skill
	}
	return ext, extensionSkills[ext]
}

// baseName returns the last element of a path, without NULs and white space round it.
func baseName(path string) string {
	path = strings.TrimRight(clean(path), `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// extension returns the part of a name from its last dot on; "" if there is none, if nothing follows it, or if nothing
// but dots comes before it.
func extension(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || i == len(name)-1 || strings.Trim(name[:i], ".") == "" {
		return ""
	}
	return name[i:]
}
