package db

import (
	"mailer/app/rules/reputation"
	"mailer/db/engine"
)

// SetGuardrail stores the guardrail state of a team. Error: ErrNotFound.
func (tx *Tx) SetGuardrail(teamID string, state reputation.Guardrail) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`UPDATE teams SET guardrail = ? WHERE id = ?`, string(state), teamID)
}

// Guardrail returns the guardrail state of a team. Error: ErrNotFound.
func (r *Reader) Guardrail(teamID string) (state reputation.Guardrail, err error) {
	err = r.Row(`SELECT guardrail FROM teams WHERE id = ?`, []any{teamID}, &state)
	return state, err
}

// Guardrails returns the guardrail states of all teams that are not ok.
func (r *Reader) Guardrails() (map[string]reputation.Guardrail, error) {
	type row struct {
		team  string
		state reputation.Guardrail
	}
	rows, err := list(r, func(s scanner) (v row, err error) {
		err = s.Scan(&v.team, &v.state)
		return v, err
	}, `SELECT id, guardrail FROM teams WHERE guardrail <> 'ok'`)
	out := map[string]reputation.Guardrail{}
	for _, v := range rows {
		out[v.team] = v.state
	}
	return out, err
}
