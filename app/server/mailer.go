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
	KeyFile string // empty: beside the database
	Schema  string // the text of schema.sql
}

// OpenMailer writes a team of another Mailer's database, which is not changed, to a
// directory that is new or empty. team is a name or an id; empty: the first. Errors, in
// words: a file that is not there or no database, one of another version, a master key
// that does not open it; those of transfer.Exporter.
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
