package db

import (
	"slices"
	"testing"
)

// goesWith are tables whose rows are deleted with rows of another table of a team.
var goesWith = map[string]string{
	"contents": "emails", "raw_pieces": "emails", "attachments": "emails", "attachment_pieces": "emails", "recipients": "emails", "events": "emails", "attempts": "emails", "units": "emails",
	"captures": "emails", "provider_ids": "emails", "account_texts": "emails",
	"broadcast_contents": "broadcasts", "broadcast_recipients": "broadcasts", "broadcast_links": "broadcasts", "broadcast_languages": "broadcasts", "broadcast_blocks": "broadcasts", "template_blocks": "template_versions", "broadcast_clicks": "broadcasts",
	"dkim_keys": "domains", "dns_credentials": "domains", "dns_published": "domains", "templates": "template_versions", "import_pieces": "imports", "import_errors": "imports",
	"image_pieces":        "images",
	"automation_versions": "automations", "automation_runs": "automations", "automation_run_steps": "automations", "automation_entries": "automations", "automation_counts": "automations",
	"automation_members": "automations",
	"received_contents":  "received_emails", "received_pieces": "received_emails",
	"choices": "leftovers", "members": "leftovers", "deliveries": "leftovers", "webhook_terms": "leftovers",
}

// ofNoTeam are tables without rows of a team.
var ofNoTeam = []string{"teams", "settings", "schema_versions", "feedback", "relays", "regions", "relay_pauses", "relay_states", "certificates", "certificate_states", "relay_usage", "audit_logs",
	"users", "sessions", "devices", "sign_in_codes", "totp", "recovery_codes", "passkeys", "used_proofs", "reverse_names"} // a person may be in other teams

func TestTeamDeletionCoversEveryTable(t *testing.T) {
	pool := memoryDB(t, schemaText(t))
	rows, err := pool.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		purged := func(table string) bool {
			return slices.ContainsFunc(teamPurges, func(p teamPurge) bool { return p.table == table })
		}
		if !purged(name) && !slices.Contains(ofNoTeam, name) && !purged(goesWith[name]) {
			t.Errorf("table %s: add it to teamPurges, goesWith or ofNoTeam", name)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
