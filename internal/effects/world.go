package effects

// World is what a call is judged in. Looking at the disk through it is the only I/O of this package. A World is for one
// call at a time: what [Of] sees of the disk is remembered in it, for the patterns that the call is then held against.
type World struct {
	Dir       string   // the folder in which the call would run: absolute, or "" where it is not known
	Workspace string   // the project's folder, ${workspace} in patterns; absolute, or ""
	Homes     []string // what ~ and $HOME may be: absolute; the first is the likely one
	User      string   // $USER

	// Budget bounds the looks at the disk; 0 is the default.
	Budget int

	disk *disk // what the current call has seen of the disk
}
