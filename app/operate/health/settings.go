package health

// Sources of settings.
const (
	FromFlag        = "flag"
	FromEnvironment = "environment"
	FromFile        = "file"     // named by a variable
	FromDatabase    = "database" // stored by an operator while the server runs
	FromDefault     = "default"
)

// Setting is a setting of a running server.
type Setting struct {
	Name     string // flag name
	Value    string // lists separated by commas; never a secret
	From     string
	Variable string // environment variable
	About    string // description
}
