package server

import (
	"cmp"
	"context"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/db"
	"mailer/db/engine"
)

// CheckDatabase looks for damage in a database, whether or not a server runs. It changes nothing.
func CheckDatabase(ctx context.Context, path string) (checks []health.Check, err error) {
	found, err := db.Check(ctx, path)
	for _, f := range found {
		checks = append(checks, health.Check{Name: f.Name, OK: f.OK, Found: f.Found, Fix: f.Fix})
	}
	return checks, err
}

// DamageError adds the database and a remedy to an error that is caused by a damaged file. Other
// errors are returned unchanged.
func DamageError(database string, err error) error {
	if err == nil || engine.IsRemote(database) || !health.Damaged(err) {
		return err
	}
	return &app.Error{Code: app.CodeInternal, Message: health.DamageOf(database, err), Err: err}
}

// IsReadOnly reports whether an error means that this user can't write a database.
func IsReadOnly(err error) bool { return engine.IsReadOnly(err) }

// Doctor asks the running server to check itself. If none runs or answers, it checks from this
// process, and if open fails, only the files of the database. An empty keyFile is the default next
// to the database.
func Doctor(ctx context.Context, database, keyFile string, passwordShown bool, open func() (*Server, func(), error)) ([]health.Check, error) {
	p := health.Target{Database: database, KeyFile: cmp.Or(keyFile, engine.KeyPath(database)), Running: engine.InUse(database), TLS: engine.TLSOf(database), PasswordVisible: passwordShown}
	s, done, err := open()
	if err != nil {
		return health.Machine(p, err), nil
	}
	defer done()
	checker := s.Health.WithTarget(p, health.Network{})
	if p.Running {
		if checks, ok, err := checker.RequestRound(ctx); ok || err != nil {
			return checks, err
		}
	}
	return checker.Doctor(ctx)
}

// locationOf describes where a server has its database and master key.
func locationOf(cfg *Config) health.Target {
	p := health.Target{Database: cfg.DB.Path(), Running: true, ThisProcess: true, TLS: cfg.DatabaseTLS, PasswordVisible: cfg.PasswordShown}
	if cfg.KeyFile != nil {
		p.KeyFile = cfg.KeyFile.Path
	}
	return p
}

// Status returns the status of a database's server.
func Status(ctx context.Context, s *Server, database, version string) (health.Status, error) {
	checker := s.Health.WithTarget(health.Target{Database: database, Running: engine.InUse(database)}, health.Network{})
	status, err := checker.Status(ctx, version)
	if err != nil {
		return status, err
	}
	return status, checker.FillTables(ctx, &status.Database)
}

// Names returns names or ids of a kind (team, domain, relay, key, email) in a database file, for
// shell completion.
func Names(ctx context.Context, path, kind string) ([]string, error) {
	return engine.Names(ctx, path, kind)
}

// RequireFile returns an error unless a database is a file.
func RequireFile(name string) error { return engine.OnlyFiles(name) }

// HasPassword reports whether a database's name contains a password.
func HasPassword(name string) bool { return engine.HasPassword(name) }

// DatabaseName returns a database's name without a password.
func DatabaseName(name string) string { return engine.Name(name) }

// FilePrefix returns the prefix of files that belong to a database.
func FilePrefix(name string) string { return engine.FilePrefix(name) }
