package db

import "regexp"

// changesStandings finds the statements that may change whom mail may not go to:
// suppressions, contacts that are unsubscribed, and choices of topics and their defaults.
var changesStandings = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) (suppressions|contacts|choices|topics)\b`)

// Standings is a mark of whom mail may not go to, as this transaction has it up to now: as
// long as a later transaction of the same DB returns the same, what was read of
// suppressions, contacts, choices and topics still stands, whoever else may write. It is
// never 0.
func (tx *Tx) Standings() uint64 {
	if tx.stood != nil {
		return 1 + *tx.stood
	}
	return 1 + *tx.standings
}
