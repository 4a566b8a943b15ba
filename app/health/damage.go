package health

import (
	"errors"
	"fmt"

	"mailer/db"
)

// Damaged reports whether an error comes of damage to the database's file.
func Damaged(err error) bool { return errors.Is(err, db.ErrDamaged) || db.IsCorrupt(err) }

// DamageOf says in words what is damaged, and what helps.
func DamageOf(database string, err error) string {
	return damageIn(database, err) + "; " + damageFix(database)
}

func damageIn(database string, err error) string {
	what := "a page of it can't be read"
	if found, ok := errors.AsType[*db.Damage](err); ok {
		what = "rows of " + found.Table + " can't be read"
	}
	return fmt.Sprintf("%s is damaged: %s", database, what)
}

func damageFix(database string) string {
	return "mailer check --db " + database + " lists all damage; mailer restore replaces the database with a backup"
}

// unseen is a check that could not be made.
func (s *Service) unseen(name string, err error) Check {
	if Damaged(err) && !db.IsRemote(s.place.Database) {
		return bad(name, damageIn(s.place.Database, err), damageFix(s.place.Database))
	}
	return bad(name, "can't be checked: "+wordsOf(err), "fix this problem, then run mailer doctor again")
}
