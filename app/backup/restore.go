package backup

import (
	"cmp"

	"mailer/db"
)

// KeyFile is where the master key of a database stands: named, or beside the database.
func KeyFile(database, named string) string { return cmp.Or(named, db.KeyPath(database)) }
