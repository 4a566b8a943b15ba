package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mailer/db/dbtest"
)

// statement is an SQL text in this package's source.
type statement struct {
	function string // the enclosing function, or the name of a table of statements
	text     string
	foreign  bool // in PostgreSQL syntax
}

// postgresFiles have statements for PostgreSQL only.
var postgresFiles = regexp.MustCompile(`^(postgres|nodes|migrate_postgres|move_postgres|.*clock).*\.go$`)

var beginsSQL = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|REPLACE)\b`)

// statements returns every SQL statement in the package's files. A statement built from
// anything but constants is an error, because it cannot be checked.
func statements(dir string) ([]statement, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	constants := stringConstants(files)
	var out []statement
	var errs []error
	for _, f := range files {
		for _, decl := range f.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok || !beginsSQL.MatchString(firstLiteral(e)) {
					return true
				}
				text, ok := textOf(e, constants)
				if !ok {
					errs = append(errs, fmt.Errorf("%s: not made of constants", fset.Position(e.Pos())))
				}
				file := filepath.Base(fset.Position(e.Pos()).Filename)
				out = append(out, statement{nameOf(decl), text, postgresFiles.MatchString(file)})
				return false
			})
		}
	}
	return out, errors.Join(errs...)
}

// nameOf returns the name of a function, or the first name of a declaration.
func nameOf(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		if spec, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return spec.Names[0].Name
		}
	}
	return ""
}

func stringConstants(files []*ast.File) map[string]string {
	out := map[string]string{}
	for found := -1; found < len(out); { // constants may refer to others
		found = len(out)
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
					if text, ok := textOf(spec.Values[0], out); ok {
						out[spec.Names[0].Name] = text
					}
				}
				return true
			})
		}
	}
	return out
}

// firstLiteral returns the leftmost string literal of an expression.
func firstLiteral(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := textOf(e, nil)
		return text
	case *ast.BinaryExpr:
		return firstLiteral(e.X)
	case *ast.CallExpr: // fmt.Sprintf and the like
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" {
			return firstLiteral(e.Args[0])
		}
	}
	return ""
}

func textOf(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		text, ok := constants[e.Name]
		return text, ok
	case *ast.BinaryExpr:
		x, okx := textOf(e.X, constants)
		y, oky := textOf(e.Y, constants)
		return x + y, okx && oky && e.Op == token.ADD
	}
	return "", false
}

var parameter = regexp.MustCompile(`\?(\d*)`)

// nulls returns as many NULLs as a statement has parameters.
func nulls(text string) []any {
	n := 0
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		if i, err := strconv.Atoi(m[1]); err == nil {
			n = max(n, i)
			continue
		}
		n++
	}
	return make([]any, n)
}

// planOf prepares a statement and returns the lines of its query plan.
func planOf(ctx context.Context, pool *sql.DB, text string) ([]string, error) {
	rows, err := pool.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, nulls(text)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return nil, err
		}
		out = append(out, detail)
	}
	return out, rows.Err()
}

func schemaText(t testing.TB) string {
	t.Helper()
	return dbtest.Schema(t)
}

// allStatements returns the statements of this package and of the engine.
func allStatements(t testing.TB) []statement {
	t.Helper()
	var all []statement
	for _, dir := range []string{".", "engine"} {
		some, err := statements(dir)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

func memoryDB(t testing.TB, schema string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file::memory:?_foreign_keys=1&_dqs=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1)
	if _, err := pool.ExecContext(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	return pool
}

// mayScan are functions whose statements may scan a table or index, with the reason.
var mayScan = map[string]string{
	"RegionRows":          "regions are few",
	"AllOpenRuns":         "a row for each team that had runs, every few seconds",
	"DeletedAutomation":   "automations that are being deleted, by an index of those alone",
	"NextStopped":         "automations whose runs are being ended, by an index of those alone",
	"MoveDoubts":          "doubts are few, and kept for a while; when a region gets its first reserve, and at the start",
	"OpenDoubts":          "doubts are few, and kept for a while; for a page of an operator, in a region with reserves",
	"EmailsInDoubt":       "doubts are few, and kept for a while; by an operator's command",
	"InsertRequestLogs":   "the rows that it writes",
	"readFileVersion":     "a row for each table and index, at the start",
	"readPostgresVersion": "the last row of the primary key",
	"rootTables":          "mailer disk: a row for each table and index",
	"movedTables":         "mailer move: a row for each column",
	"makeTables":          "mailer move: a row for each index",
	"pointers":            "a page by its number",
	"rootPages":           "mailer check: a row for each table and index",
	"Retentions":          "a row for each team, once a minute",
	"AllImageBytes":       "a row for each team, for the operator",
	"IsNew":               "settings has a handful of rows",
	"ListTeams":           "the operator's list of all teams",
	"FindTeam":            "the first row of the primary key",
	"OpenOf":              "all open units, for the operator who deletes a team or a domain",
	"purgeLeftoversOf":    "a row for each that was deleted, soon gone",
	"EndTeamDeletion":     "a row for each leftover, soon gone",
	"DeletedTeams":        "a row for each team that is being deleted",
	"AuditLog":            "the newest rows of the primary key, for the operator",
	"FailingWebhooks":     "all webhooks, of which there are few, for the operator",
	"PurgeAudit":          "the first rows of the primary key",
	"namesOf":             "the first or last rows of a key, and all relays, for a shell that completes",
	"teamPurges":          "troubles, doubts and erasures, of which there are few, once for a deleted team",
	"QueuedGroups":        "open work alone, counted where it lies: in an index what is due",
	"QueuedDomains":       "open work alone, up to a bound",
	"UnitRelays":          "the first row of an index",
	"HasUsers":            "the first row of a key",
	"SeveralTeams":        "two rows of the primary key",
	"CountTeams":          "where little is left of a relay's daily limit",
	"RegionUse":           "all teams, once at start",
	"BegunUnits":          "all open units, once at start",
	"ClearCrashes":        "all open units, once at start",
	"ClampTimes":          "all open units, relay troubles and webhooks, once at start and where the clock was set",
	"Relays":              "a row for each relay",
	"RelayPauses":         "a row for each relay that is paused",
	"EndPauses":           "a row for each relay that is paused",
	"RelayStates":         "a row for each relay",
	"CountOpen":           "what waits for a relay that is not there, once a minute",
	"CountWaiting":        "what waits, for the log of a trouble",
	"SuspendedTeams":      "a row for each of them",
	"OpenTroubles":        "a row for each relay that can't be used now",
	"OpenTroubleRows":     "a row for each relay or domain that can't be used now",
	"Erasures":            "a row for each erasure under way",
	"HasErasures":         "a row for each erasure under way",
	"ErasuresOf":          "a row for each erasure under way",
	"CertificateEnds":     "all certificates of the server, at its start",
	"CertificateStates":   "the same",
	"PurgeCertificates":   "the same",
	"PurgeChallenges":     "the same",
	"TenantHosts":         "all tracking hosts, by their own index, now and then",
	"DueIssues":           "the topics that have an archive, each by its own index",
	"HoldFeeds":           "all active feeds, in a copy that is restored",
	"HoldAutomations":     "the same, of automations",
	"HeldFeeds":           "feeds that a restore held, by an operator's command",
	"PagesHosts":          "at most one of each team, now and then",
	"readSchemaTexts":     "a row for each table and index",
	"makeSchema":          "the tables of a database that should have none",
	"writePages":          "all of the file, for a backup",
	"finishCopy":          "how many emails a backup holds, in the copy",
	"HoldOpenUnits":       "all open units, in a copy that is restored",
	"CommittedUnits":      "all open units, once at start and for the operator: an index would cost every message",
	"PurgeWebhookEvents":  "the first rows of the primary key",
	"PurgeDeliveries":     "the first row of the primary key",
	"Guardrails":          "a row for each team, once at start",
	"AllEnabledWebhooks":  "once at start",
	"HasLeftovers":        "a row for each that was deleted, soon gone",
	"PurgeLeftovers":      "a row for each deleted topic or segment, soon gone",
	"HoldDueOptIns":       "all due confirmations, in a copy that is restored",
	"ReleaseOptIns":       "what a restore held, by an operator's command",
	"DropHeldOptIns":      "the same",
	"NextDueForm":         "the first row of an index of due confirmations",
	"WorstOfRegion":       "the teams of a region with bounces or complaints, while its sum crosses a line",
	"PurgeUsage":          "a day of minutes for each relay, once an hour",
}

// hot are the queries that run for each request or each message, with the indexes that
// their statements must use, in order.
var hot = map[string][]string{
	"ContactsByAddresses": {"(team_id=? AND address=?)"},
	"SuppressionsAmong":   {"(team_id=? AND address=?)"},
	"BlockedInBulk":       {"(topic_id=? AND address=?)"},
	"ContactIDsTaken":     {"PRIMARY KEY (team_id=? AND id=?)"},
	"SuppressionIDsTaken": {"PRIMARY KEY (id=?)"},
	"ChoicesAmong":        {"PRIMARY KEY (topic_id=? AND address=?)"},
	"UnsubscribeAmong":    {"(team_id=? AND address=?)"},
	"TeamPlan":            {"PRIMARY KEY (team_id=?)"},
	"DayRecipients":       {"PRIMARY KEY (team_id=? AND day=?)"},
	"RecipientsBetween":   {"PRIMARY KEY (team_id=? AND day>? AND day<?)"},
	"Backlog":             {"PRIMARY KEY (team_id=?)"},
	"BacklogIsDue":        {"units_owed (team_id=? AND late=? AND next_at<?)"},
	"ReleaseBacklog":      {"units_owed (team_id=? AND late=? AND next_at>?)"},
	"BroadcastBacklog":    {"broadcasts_open (team_id=?)"},
	"ListEmails":          {"PRIMARY KEY", "emails_team (team_id=? AND id<?)", "emails_team (team_id=? AND id>?)"},
	"UnitSituations":      {"PRIMARY KEY (email_id>? AND email_id<?)"},
	"CountUnsent":         {"emails_unsent (team_id=? AND created_at>?)"},
	"PurgeUnsent":         {"emails_unsent (team_id=? AND created_at<?)"},
	"searchPieceEnd": {"units_stopped (team_id=? AND email_id>? AND email_id<?)", "units_stopped (team_id=? AND email_id>? AND email_id<?)",
		"recipients_address (team_id=? AND <expr>=? AND email_id>? AND email_id<?)", "recipients_address (team_id=? AND <expr>=? AND email_id>? AND email_id<?)",
		"emails_team (team_id=? AND id>? AND id<?)", "emails_team (team_id=? AND id>? AND id<?)"},
	"searched": {"units_stopped (team_id=? AND email_id>? AND email_id<?)", "units_stopped (team_id=? AND email_id>? AND email_id<?)",
		"recipients_address (team_id=? AND <expr>=? AND email_id>? AND email_id<?)", "recipients_address (team_id=? AND <expr>=? AND email_id>? AND email_id<?)",
		"emails_team (team_id=? AND id>? AND id<?)", "emails_team (team_id=? AND id>? AND id<?)"},
	"prefixed":            {"recipients_address (team_id=? AND <expr>>? AND <expr><?)"},
	"ListAttachments":     {"(id=?)", "attachments_email (email_id=? AND id<?)", "attachments_email (email_id=? AND id>?)"},
	"email":               {"PRIMARY KEY (id=?)"},
	"NewestEvents":        {"PRIMARY KEY (email_id=?)"},
	"OpenTroublesOf":      {"relay_troubles_open (relay=?)"},
	"QueuedUnit":          {"u USING PRIMARY KEY (email_id=?)"},
	"troubles":            {"relay_troubles_relay (relay=? AND started_at<?)"},
	"CountDoubts":         {"doubts_email (email_id=?)"},
	"SettleDoubts":        {"doubts_email (email_id=?)"},
	"FindKey":             {"(public=?)"},
	"AllKeys":             {"keys_team (team_id=?)"},
	"KeysOfDomain":        {"keys_domain (domain_id=?)"},
	"cappedCounts":        {"keys_team (team_id=?)", "segments_team (team_id=?)", "topics_team (team_id=?)", "templates_team (team_id=?)", "blocks_team (team_id=?)", "forms_team (team_id=?)", "broadcasts_open (team_id=?)"},
	"Form":                {"(id=?)"},
	"PendingOptIns":       {"opt_ins_address (team_id=? AND address=?)"},
	"CountDueOfRange":     {"opt_ins_due (team_id=? AND form_id=? AND ip_range=?)"},
	"Confirmations":       {"PRIMARY KEY (person=? AND sent_at>?)"},
	"FormConfirmations":   {"confirmations_form (form_id=? AND sent_at>?)"},
	"ListKeys":            {"keys_team (team_id=? AND id<?)", "keys_team (team_id=? AND id>?)"},
	"TeamOutcome":         {"PRIMARY KEY (team_id=? AND hour>?)"},
	"WorstOfRegion":       {"mail_counts_bad (region=? AND hour>?)"},
	"RegionOutcome":       {"PRIMARY KEY (team_id=? AND hour>?)"},
	"RegionUse":           {"SEARCH c USING PRIMARY KEY (team_id=? AND hour>?)"},
	"DomainStatus":        {"(team_id=? AND name=?)"},
	"DueDomains":          {"domains_due (check_at<?)"},
	"ListDomains":         {"(id=?)", "domains_team (team_id=? AND id<?)", "domains_team (team_id=? AND id>?)"},
	"PurgeFeedback":       {"feedback_age (created_at<?)"},
	"EmailOfProvider":     {"PRIMARY KEY (id=?)"},
	"Subject":             {"PRIMARY KEY (id=?)"},
	"Recipients":          {"PRIMARY KEY (email_id=?)"},
	"broadcastSubject":    {"(mails=?)"},
	"PurgeProviderIDs":    {"provider_ids_email (email_id<?)"},
	"MoveRecipient":       {"PRIMARY KEY (email_id=? AND n=?)"},
	"CountTrackingEvents": {"PRIMARY KEY (email_id=?)"},
	"TrackedEmail":        {"e USING PRIMARY KEY (id=?)"},
	"trackedRecipient":    {"b USING INDEX sqlite_autoindex_broadcasts_2 (mails=?); SEARCH p USING PRIMARY KEY (id=?)"},
	"pickedRecipients":    {"r USING PRIMARY KEY (id>? AND id<?)", "r USING PRIMARY KEY (id>? AND id<?)"},
	"CountOpens":          {"PRIMARY KEY (email_id=?)"},
	"BounceOf":            {"PRIMARY KEY (email_id=?)"},
	"ClicksOf":            {"c USING PRIMARY KEY (recipient_id=?); SEARCH l USING PRIMARY KEY (broadcast_id=? AND n=?)"},
	"ClickedLinks":        {"PRIMARY KEY (broadcast_id=?)"},
	"IdempotentAnswer":    {"PRIMARY KEY (team_id=? AND scope=? AND route=? AND key=?)"},
	"PurgeAnswers":        {"idempotency_age (created_at<?)"},
	"DueTeams":            {"units_due (relay=? AND bulk=? AND team_id>?)"},
	"DueSenders":          {"units_due (relay=? AND bulk=? AND team_id=? AND domain>?)"},
	"BegunBefore":         {"units_clock (relay=? AND team_id=? AND since>? AND since<?)"},
	"DueBefore":           {"units_due (relay=? AND bulk=? AND team_id=? AND domain=? AND next_at<?)"},
	"ExpiredBy":           {"units_expiry (relay=? AND team_id=? AND <expr><?)"},
	"PausesOf":            {"relay_troubles_stood (relay=?)"},
	"DueUnits":            {"units_due (relay=? AND bulk=? AND team_id=? AND domain=?)"},
	"NextLater":           {"units_later (relay=? AND bulk=?)"},
	"SetDue":              {"units_later (relay=? AND bulk=? AND next_at<?)"},
	"DomainTroubles":      {"relay_troubles_domain (team_id=? AND domain=?)"},
	"Suppressions":        {"sqlite_autoindex_suppressions_2 (team_id=? AND address=?)", "sqlite_autoindex_suppressions_2 (team_id=? AND address=?)"},
	"ListSuppressions": {"suppressions_origin (team_id=? AND origin=? AND id<?)", "suppressions_origin (team_id=? AND origin=? AND id>?)",
		"suppressions_team (team_id=? AND id<?)", "suppressions_team (team_id=? AND id>?)"},
	"Suppression":       {"PRIMARY KEY (id=?)"},
	"DeleteSuppression": {"PRIMARY KEY (id=?)"},
	"Setting":           {"PRIMARY KEY (name=?)"},
	"ListTopics":        {"topics_team (team_id=? AND id<?)", "topics_team (team_id=? AND id>?)"},
	"ListTopicsFor": {"topics_team (team_id=? AND id<?); SEARCH ch USING PRIMARY KEY (topic_id=? AND address=?)",
		"topics_team (team_id=? AND id>?); SEARCH ch USING PRIMARY KEY (topic_id=? AND address=?)"},
	"TopicFor":         {"PRIMARY KEY (id=?); SEARCH ch USING PRIMARY KEY (topic_id=? AND address=?)"},
	"HasTopicUnits":    {"units_topic (topic_id=?)"},
	"ListProperties":   {"properties_team (team_id=? AND id<?)", "properties_team (team_id=? AND id>?)"},
	"ListTemplates":    {"templates_team (team_id=? AND id<?)", "templates_team (team_id=? AND id>?)"},
	"Template":         {"PRIMARY KEY (id=?)", "sqlite_autoindex_templates_2 (team_id=? AND alias=?)"},
	"TemplateSize":     {"sqlite_autoindex_template_versions_1 (id=?)"},
	"TemplateContent":  {"sqlite_autoindex_template_versions_1 (id=?)"},
	"ListContacts":     {"PRIMARY KEY (team_id=? AND id=?)", "PRIMARY KEY (team_id=? AND id<?)", "PRIMARY KEY (team_id=? AND id>?)"},
	"Contact":          {"PRIMARY KEY (team_id=? AND id=?)"},
	"ContactByAddress": {"sqlite_autoindex_contacts_2 (team_id=? AND address=?)"},
	"UpdateContact":    {"PRIMARY KEY (team_id=? AND id=?)"},
	"AddTopics":        {"topics_team (team_id=?)", "ch USING PRIMARY KEY (topic_id=? AND address=?)"},
	"Subscription":     {"sqlite_autoindex_contacts_2 (team_id=? AND address=?)"},
	"TopicExists":      {"PRIMARY KEY (id=?)"},
	"Envelope":         {"PRIMARY KEY (email_id=?)"},
	"ShownTopics":      {"sqlite_autoindex_topics_2 (team_id=?)"},
	"EnabledWebhooks":  {"webhooks_team (team_id=?)"},
	"ListWebhooks":     {"webhooks_team (team_id=? AND id<?)", "webhooks_team (team_id=? AND id>?)"},
	"DueDeliveries":    {"deliveries_due (webhook_id=? AND next_at>?)"},
	"BeginDelivery":    {"PRIMARY KEY (webhook_id=? AND event_id=?)"},
	"EndDelivery":      {"PRIMARY KEY (webhook_id=? AND event_id=?)", "PRIMARY KEY (webhook_id=? AND event_id=?)"},
	"Delivery":         {"h USING PRIMARY KEY (id=?); SEARCH d USING PRIMARY KEY (webhook_id=? AND event_id=?)"},
	"olderDeliveries":  {"d USING PRIMARY KEY (webhook_id=? AND event_id<?); SEARCH h USING PRIMARY KEY (id=?)"},
	"newerDeliveries":  {"d USING PRIMARY KEY (webhook_id=? AND event_id>?); SEARCH h USING PRIMARY KEY (id=?)"},
	"eventsOf":         {"webhook_events_type (team_id=? AND type=? AND seq>? AND seq<?)", "webhook_events_type (team_id=? AND type=? AND seq>? AND seq<?)"},
	"terms":            {"PRIMARY KEY (webhook_id=? AND until>?)"},
	"waitingDelivery":  {"PRIMARY KEY (id=?)"},
	"EnabledWebhook":   {"w USING PRIMARY KEY (id=?)"},
	"WebhookEmail":     {"e USING PRIMARY KEY (id=?)"},
	"memberContacts": {"m USING PRIMARY KEY (segment_id=? AND contact_id<?); SEARCH c USING PRIMARY KEY (team_id=? AND id=?)",
		"m USING PRIMARY KEY (segment_id=? AND contact_id>?); SEARCH c USING PRIMARY KEY (team_id=? AND id=?)"},
	"rangeUp":          {"PRIMARY KEY (team_id=? AND id>?)"},
	"rangeDown":        {"PRIMARY KEY (team_id=? AND id<?)"},
	"SegmentsOf":       {"members_contact (contact_id=?)"},
	"NextImport":       {"imports_waiting (team_id>?)"},
	"WaitingImports":   {"imports_waiting (team_id=?"},
	"NextImportOver":   {"imports_stored (status=?)"},
	"DeleteOldImports": {"imports_over (completed_at<?)"},
	"AgedEmails":       {"emails_team (team_id=? AND id>? AND id<?)"},
	"AgedRecipients":   {"r USING PRIMARY KEY (id>? AND id<?)"},
	"AgingBroadcasts":  {"broadcasts_aging (team_id=? AND aged=?)"},
	"TooYoung":         {"PRIMARY KEY (team_id=? AND kind=? AND at<?)"},
	"StoredImports":    {"imports_stored (status=?)"},
	"Piece":            {"(import_id=? AND n=?)"},
	"ListImports":      {"imports_team (team_id=? AND id<?)", "imports_team (team_id=? AND id>?)"},
	"ListImportErrors": {"(import_id=? AND id=?)", "(import_id=? AND id>?)", "(import_id=? AND id<?)"},
}

var (
	scan = regexp.MustCompile(`^SCAN (\w+)`)
	// ownTables matches tables defined in a statement, with their aliases.
	ownTables = regexp.MustCompile(`(\w+_open)(?: AS (\w+))?`)
)

// maySort are statements that may sort: they group rows.
var maySort = map[string]bool{"QueuedGroups": true, "QueuedDomains": true, "movedTables": true, "WorstOfRegion": true, "OpenDoubts": true,
	"MembersBetween": true, "FormerBetween": true, "FormerChoices": true, "SuppressedChoices": true, "MailedBetween": true, // one page of an export
	"ReportSources": true, // sources of a domain's reports, of which a day has at most 200
	"DueRanges":     true, // the due confirmations of a form, for each minute in which it may send
}

// planProblems returns the problems of a statement's query plan.
func planProblems(s statement, lines []string) []string {
	own := map[string]bool{"CONSTANT": true, "20": true, "50": true, "a": true}
	for _, m := range ownTables.FindAllStringSubmatch(s.text, -1) {
		own[m[1]], own[m[2]] = true, true
	}
	var out []string
	for _, line := range lines {
		m := scan.FindStringSubmatch(line)
		if m != nil && !own[m[1]] && mayScan[s.function] == "" || strings.Contains(line, "TEMP B-TREE") && !maySort[s.function] {
			out = append(out, line)
		}
	}
	return out
}

func TestStatementsFitSchemaAndUseIndexes(t *testing.T) {
	t.Parallel()
	pool := memoryDB(t, schemaText(t))
	all := allStatements(t)
	if len(all) < 50 {
		t.Fatalf("only %d statements found", len(all))
	}
	plans := map[string][]string{}
	for _, s := range all {
		if s.foreign {
			continue
		}
		lines, err := planOf(t.Context(), pool, s.text)
		if err != nil {
			t.Errorf("%s: %v\n%s", s.function, err, s.text)
			continue
		}
		for _, problem := range planProblems(s, lines) {
			t.Errorf("%s: %s", s.function, problem)
		}
		plans[s.function] = append(plans[s.function], strings.Join(lines, "; "))
	}
	for function, want := range hot {
		got := plans[function]
		if len(got) != len(want) {
			t.Errorf("%s has %d statements, not %d", function, len(got), len(want))
			continue
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%s: plan %q does not use %s", function, got[i], want[i])
			}
		}
	}
}

func TestStatementCheckFindsErrors(t *testing.T) {
	t.Parallel()
	pool := memoryDB(t, schemaText(t))
	if _, err := planOf(t.Context(), pool, `SELECT nothing FROM emails WHERE id = ?`); err == nil {
		t.Error("an unknown column passes")
	}
	for _, text := range []string{
		`SELECT id FROM emails WHERE subject = ?`,
		`SELECT id FROM emails WHERE team_id = ? ORDER BY subject`,
		`UPDATE units SET next_at = ?2 WHERE state = ?1`,
	} {
		lines, err := planOf(t.Context(), pool, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(planProblems(statement{"x", text, false}, lines)) == 0 {
			t.Errorf("%s passes with %q", text, lines)
		}
	}
	dir := t.TempDir()
	source := "package x\nfunc f(column string) { g(`SELECT ` + column + ` FROM emails`) }\n"
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := statements(dir); err == nil {
		t.Error("a statement made of a variable passes")
	}
}
