package health

import (
	"errors"
	"fmt"

	"mailer/db"
	"mailer/db/engine"
)

// Damaged reports whether an error is caused by damage to the database file.
func Damaged(err error) bool { return errors.Is(err, db.ErrDamaged) || engine.IsCorrupt(err) }

// DamageOf describes the damage and its fix.
func DamageOf(database string, err error) string {
	return damageIn(database, err) + "; " + damageFix(database)
}

func damageIn(database string, err error) string {
	return fmt.Sprintf("%s is damaged: %s", database, damageOf(err))
}

// damageOf returns which part of a database is damaged.
func damageOf(err error) string {
	if found, ok := errors.AsType[*engine.Damage](err); ok {
		return "rows of " + found.Table + " can't be read"
	}
	return "a page of it can't be read"
}

func damageFix(database string) string {
	return "mailer check --db " + database + " lists all damage; mailer restore replaces the database with a backup"
}

// checkFailed returns a check that could not be made.
func (s *Service) checkFailed(name string, err error) Check {
	if Damaged(err) && !engine.IsRemote(s.target.Database) {
		return bad(name, "database_damaged", "", "database", s.target.Database, "what", damageOf(err))
	}
	return bad(name, "check_failed", name, "check", name, "error", wordsOf(err))
}
