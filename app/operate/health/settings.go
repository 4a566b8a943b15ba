package health

// Where settings come from.
const (
	FromFlag        = "flag"
	FromEnvironment = "environment"
	FromFile        = "file"     // that a variable names
	FromDatabase    = "database" // stored by an operator while the server runs
	FromDefault     = "default"
)

// Setting is a setting of a running server.
type Setting struct {
	Name     string // of its flag
	Value    string // lists separated by commas; never a secret
	From     string
	Variable string // that sets it, too
	About    string // what it says, in words
}
