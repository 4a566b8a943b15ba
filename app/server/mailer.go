package server

import (
	"cmp"
	"context"
	"errors"

	"mailer/app/moving/transfer"
	"mailer/db"
	"mailer/db/engine"
)

// OtherMailer is the database file of another Mailer.
type OtherMailer struct {
	Path    string
	KeyFile string // empty: next to the database
	Schema  string // the text of schema.sql
}

// OpenMailer exports a team of another Mailer's database into a new or empty directory. The
// database is not changed. team is a name or an id; empty: the first team. Errors: the file is
// missing or no database, has another version, or the master key does not fit; those of
// transfer.Exporter.
func OpenMailer(ctx context.Context, from OtherMailer, team, dir string, opts transfer.ExportOptions) (made transfer.Exported, err error) {
	store, err := db.OpenReadOnly(ctx, from.Path, from.Schema)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	key := &KeyFile{Path: cmp.Or(from.KeyFile, engine.KeyPath(from.Path)), Database: from.Path, Flag: "--from-key-file"}
	s, err := key.NewServer(ctx, Config{DB: store})
	if err != nil {
		return made, err
	}
	found, err := s.Teams.FindTeam(ctx, team)
	if err != nil {
		return made, err
	}
	return s.Exports.Export(ctx, found, dir, opts)
}
