package db

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// writtenTables returns the tables that SQLite's program of a statement writes to,
// including foreign key actions.
func writtenTables(t *testing.T, d *DB, text string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := d.Read(t.Context(), func(r *Reader) error {
		tables := map[int]string{}
		err := r.Each("SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0", nil, func(s scanner) error {
			var page int
			var name string
			err := s.Scan(&page, &name)
			tables[page] = name
			return err
		})
		if err != nil {
			return err
		}
		return r.Each("EXPLAIN "+text, nulls(text), func(s scanner) error {
			var address, p1, p2, p3, p5 int
			var opcode string
			var p4, comment any
			err := s.Scan(&address, &opcode, &p1, &p2, &p3, &p4, &p5, &comment)
			if opcode == "OpenWrite" {
				out[tables[p2]] = true
			}
			return err
		})
	})
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func suppressionVersionStore(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: schemaText(t), Lazy: true, Create: true, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// cachedTables are the tables with data that servers cache, except for the counts of contacts, and
// what a write to one changes. A table that is in neither list fails the test.
var cachedTables = map[string]string{
	"suppressions": "Suppressions", "contacts": "Suppressions", "choices": "Suppressions", "topics": "Suppressions",
	"teams": "Control", "team_plans": "Control", "keys": "Control", "domains": "Control", "dkim_keys": "Control",
	"relays": "Control", "regions": "Control", "relay_pauses": "Control", "settings": "Control",
	"webhooks": "Webhooks", "erasures": "Erasures",
}

var uncachedTables = strings.Fields(`account_texts aged attachment_pieces attachments attempts audit_logs
	automation_counts automation_entries automation_listeners automation_members automation_run_steps automation_runs automation_signals automation_teams automation_versions automations blocks broadcast_blocks broadcast_clicks broadcast_contents
	broadcast_languages broadcast_links broadcast_recipients broadcasts captures certificate_states certificates choice_news confirmations consents contents custom_events deliveries
	devices dns_credentials dns_published doubts emails events feedback feeds former_addresses forward_addresses former_envelopes forms idempotency image_pieces images import_errors
	import_pieces imports invitation_mails invitations issues leftovers logos mail_counts mail_report_days mail_report_sources mail_report_warnings mail_reports mail_routes members memberships nodes opt_ins pages_hosts passkeys properties provider_ids
	raw_pieces received_contents received_days received_emails received_pieces recipients recovery_codes refusals reverse_names route_effects
	relay_states relay_troubles relay_usage request_logs schema_versions segments sessions sign_in_codes state team_backlogs team_days
	template_blocks template_versions templates too_young totp units used_proofs users versions webhook_attempts webhook_event_counts webhook_events webhook_terms`)

// unnoted are functions whose writes to these tables change nothing that is cached.
var unnoted = map[string]string{
	"raiseActivity": "contacts: when they opened or clicked", "raiseSent": "contacts: when they were sent to",
	"CountContacts": "teams: a number that is read where it is needed", "storeListed": "teams: as CountContacts", "addImageBytes": "teams: as CountContacts",
	"SetNamedSources": "domains: a column that is read where it is needed",
	"TouchKey":        "keys: the last use", "SetPeriodNotified": "team_plans: which notice was sent",
	"BeginWaiting": "webhooks: where the waiting events begin", "skip": "webhooks: as BeginWaiting",
	"SetFailing": "webhooks: since when it fails", "ClearFailing": "webhooks: as SetFailing",
	"Unmove": "settings, without a server", "mark": "settings, without a server", "makeSchema": "a new database",
}

// callsOfChanged returns the names of package engine in the arguments of Tx.Changed, by function.
func callsOfChanged(t *testing.T) map[string][]string {
	t.Helper()
	noted := map[string][]string{}
	for _, pattern := range []string{"*.go", "engine/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Changed" {
						return true
					}
					for _, arg := range call.Args {
						switch arg := arg.(type) {
						case *ast.SelectorExpr:
							noted[fn.Name.Name] = append(noted[fn.Name.Name], arg.Sel.Name)
						case *ast.Ident:
							noted[fn.Name.Name] = append(noted[fn.Name.Name], arg.Name)
						}
					}
					return true
				})
			}
		}
	}
	for table, function := range map[string]string{"teamPurges": "PurgeTeam", "purgedWebhooks": "purgeWithLeftovers", "textColumns": "ScrubText", "sealedStatements": "Reseal"} {
		noted[table] = noted[function]
	}
	return noted
}

func TestStatementsThatChangeCachedDataCallChanged(t *testing.T) {
	t.Parallel()
	d := suppressionVersionStore(t)
	noted := callsOfChanged(t)
	found := 0
	for _, s := range allStatements(t) {
		if s.foreign || !beginsSQL.MatchString(s.text) || s.function == "pointers" {
			continue
		}
		for table := range writtenTables(t, d, s.text) {
			what := cachedTables[table]
			switch {
			case what == "" && !slices.Contains(uncachedTables, table):
				t.Errorf("%s writes to %q: is it cached?", s.function, table)
			case what != "" && unnoted[s.function] == "":
				found++
				if !slices.Contains(noted[s.function], what) {
					t.Errorf("%s writes to %s without Changed(engine.%s): %s", s.function, table, what, s.text)
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d statements write to these tables", found)
	}
}

func TestSuppressionVersionChanges(t *testing.T) {
	t.Parallel()
	d := suppressionVersionStore(t)
	versions := func(fn func(tx *Tx) error) (mark uint64) {
		t.Helper()
		if err := d.Write(t.Context(), func(tx *Tx) error {
			err := fn(tx)
			mark = tx.SuppressionVersion()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return mark
	}
	nothing := func(*Tx) error { return nil }
	before := versions(nothing)
	if before == 0 {
		t.Error("the first version is 0")
	}
	if got := versions(func(tx *Tx) error { return tx.SetSetting("a", []byte("x")) }); got != before {
		t.Error("a setting changes the version")
	}
	team := app.Team{ID: app.NewID(), Name: "a", CreatedAt: time.Now()}
	versions(func(tx *Tx) error { return tx.InsertTeam(team) })
	optOut := app.Suppression{ID: app.NewID(), TeamID: team.ID, Email: "a@example.com", Hash: app.AddressHash{1}, CreatedAt: time.Now()}
	within := versions(func(tx *Tx) error { _, err := tx.InsertOptOut(&optOut); return err })
	if within == before {
		t.Error("an opt-out does not change the version")
	}
	other, err := Open(t.Context(), Options{Path: d.Path(), Schema: schemaText(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if err := other.Write(t.Context(), func(tx *Tx) error { return tx.DeleteSuppression(team.ID, optOut.ID) }); err != nil {
		t.Fatal(err)
	}
	if versions(nothing) == within {
		t.Error("a write of another process does not change the version")
	}
}
