package server

import (
	"cmp"
	"context"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/db"
	"mailer/db/engine"
)

// CheckDatabase looks for damage in a database, beside a server or alone, and changes
// nothing.
func CheckDatabase(ctx context.Context, path string) (checks []health.Check, err error) {
	found, err := db.Check(ctx, path)
	for _, f := range found {
		checks = append(checks, health.Check{Name: f.Name, OK: f.OK, Found: f.Found, Fix: f.Fix})
	}
	return checks, err
}

// DamageError returns an error of a command in words that name the database, and what helps,
// where it comes of damage to its file. Other errors pass.
func DamageError(database string, err error) error {
	if err == nil || engine.IsRemote(database) || !health.Damaged(err) {
		return err
	}
	return &app.Error{Code: app.CodeInternal, Message: health.DamageOf(database, err), Err: err}
}

// IsReadOnly reports whether an error says that a database can't be written by this user.
func IsReadOnly(err error) bool { return engine.IsReadOnly(err) }

// Doctor has the running server look at itself; where none runs or answers it looks from here
// and, where open fails, at what is there of the database. keyFile is empty for the file beside the database.
func Doctor(ctx context.Context, database, keyFile string, passwordShown bool, open func() (*Server, func(), error)) ([]health.Check, error) {
	p := health.Target{Database: database, KeyFile: cmp.Or(keyFile, engine.KeyPath(database)), Running: engine.InUse(database), TLS: engine.TLSOf(database), PasswordVisible: passwordShown}
	s, done, err := open()
	if err != nil {
		return health.Machine(p, err), nil
	}
	defer done()
	beside := s.Health.WithTarget(p, health.Network{})
	if p.Running {
		if checks, ok, err := beside.Ask(ctx); ok || err != nil {
			return checks, err
		}
	}
	return beside.Doctor(ctx)
}

// locationOf is where a running server has its database and master key.
func locationOf(cfg *Config) health.Target {
	p := health.Target{Database: cfg.DB.Path(), Running: true, ThisProcess: true, TLS: cfg.DatabaseTLS, PasswordVisible: cfg.PasswordShown}
	if cfg.KeyFile != nil {
		p.KeyFile = cfg.KeyFile.Path
	}
	return p
}

// Status looks how the server of a database is.
func Status(ctx context.Context, s *Server, database, version string) (health.Status, error) {
	beside := s.Health.WithTarget(health.Target{Database: database, Running: engine.InUse(database)}, health.Network{})
	status, err := beside.Status(ctx, version)
	if err != nil {
		return status, err
	}
	return status, beside.FillTables(ctx, &status.Database)
}

// Names returns names or ids of a kind (team, domain, relay, key, email) out of a database
// file, for a shell that completes them.
func Names(ctx context.Context, path, kind string) ([]string, error) {
	return engine.Names(ctx, path, kind)
}

// RequireFile refuses, in words, what is done to a database in a file alone.
func RequireFile(name string) error { return engine.OnlyFiles(name) }

// HasPassword reports whether the name of a database holds a password.
func HasPassword(name string) bool { return engine.HasPassword(name) }

// DatabaseName is the name of a database as people may see it: without a password.
func DatabaseName(name string) string { return engine.Name(name) }

// FilePrefix is what the names of files begin with that lie beside a database.
func FilePrefix(name string) string { return engine.FilePrefix(name) }
