package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// Sources of emails. Emails of broadcasts have none.
const (
	SourceAPI       = "api"
	SourceCLI       = "cli"
	SourceDashboard = "dashboard"
	SourceMCP       = "mcp"
	SourceResend    = "resend" // sent again: see Resends
	SourceSMTP      = "smtp"
)

// Sources are all sources.
var Sources = []string{SourceAccount, SourceAPI, SourceCLI, SourceDashboard, SourceMCP, SourceResend, SourceSMTP}

// sourceOf returns the source of emails sent with a key.
func sourceOf(key *app.Key) string {
	switch {
	case key.Via != "":
		return key.Via
	case key.Session != nil:
		return SourceDashboard
	case key.ID == "":
		return SourceCLI
	}
	return SourceAPI
}

// Search implements searches for emails of a team.
type Search struct {
	service *Service
	slots   *base.TeamSemaphore
	indexed string // the last id that IndexRecipients indexed in this process
}

func newSearch(s *Service) *Search {
	return &Search{service: s, slots: base.NewTeamSemaphore(maxSearches, maxWaitingSearches)}
}

// Limits of concurrent searches of all teams, and of waiting ones of one team.
const (
	maxSearches        = 2
	maxWaitingSearches = 20
)

// searchBound bounds the rows and the time of one search request.
var searchBound = db.SearchBound{Rows: 20_000, Time: 100 * time.Millisecond}

// FoundEmails is the result of a search.
type FoundEmails = db.FoundEmails

// SearchQuery holds the filters of a search as given; empty strings match all.
type SearchQuery struct {
	To, From, Subject, Status, State, Domain, Tag, Source, KeyID, BroadcastID, CreatedAfter, CreatedBefore string
}

// maxSearchText bounds a text filter, in bytes.
const maxSearchText = 320

// Emails returns a page of the team's emails that match a query, without content. It searches a
// bounded number of emails; SearchedTo of the result is the last one. Errors: CodeValidation naming
// the filter, CodeNotFound for a broadcast.
func (s *Search) Emails(ctx context.Context, key *app.Key, q SearchQuery, page app.Page) (*FoundEmails, error) {
	if q.BroadcastID != "" {
		return s.broadcastEmails(ctx, key, q, page)
	}
	f, err := q.filter()
	if err != nil {
		return nil, err
	}
	if err := s.slots.Acquire(ctx, key.TeamID, 1); err != nil {
		return nil, err
	}
	defer s.slots.Release(key.TeamID, 1)
	found, err := db.Get(ctx, s.service.DB, func(r *db.Reader) (FoundEmails, error) {
		return r.SearchEmails(key.TeamID, f, page, searchBound)
	})
	return &found, base.Unavailable(err)
}

// Reasons returns, by id, the newest event of each email that explains its state: the event of its
// last_event, or why it is deferred or held. An email without such an event has no entry.
func (s *Search) Reasons(ctx context.Context, emails []app.Email) (map[string]app.Event, error) {
	out := map[string]app.Event{}
	err := s.service.DB.Read(ctx, func(r *db.Reader) error {
		for i := range emails {
			ev, err := r.NewestEventOf(emails[i].ID, reasonOf(&emails[i]))
			switch {
			case err == nil:
				out[ev.EmailID] = ev
			case !errors.Is(err, db.ErrNotFound):
				return fmt.Errorf("read the reason of a state: %w", err)
			}
		}
		return nil
	})
	return out, base.Unavailable(err)
}

// reasonOf returns the type of the event that explains the state of an email.
func reasonOf(e *app.Email) app.EventType {
	switch e.State() {
	case app.Deferred:
		return app.EventDeferred
	case app.Held:
		return app.EventHeld
	}
	return app.EventType(e.LastEvent)
}

// filter validates a query. Errors: CodeValidation.
func (q *SearchQuery) filter() (*db.EmailFilter, error) {
	f := &db.EmailFilter{Subject: q.Subject, Source: q.Source}
	valid := true
	for status := range strings.SplitSeq(q.Status, ",") {
		if q.Status != "" {
			f.Status = append(f.Status, app.LastEvent(status))
			valid = valid && slices.Contains(app.LastEvents(), app.LastEvent(status))
		}
	}
	for state := range strings.SplitSeq(q.State, ",") {
		if q.State != "" {
			f.State = append(f.State, app.State(state))
			if !slices.Contains(app.States(), app.State(state)) {
				return nil, app.Invalid("state", "must be states of emails, with commas between them: %s", stateNames())
			}
		}
	}
	var errs [6]error
	f.To, errs[0] = addressPattern("to", q.To)
	f.From, errs[1] = addressPattern("from", q.From)
	f.Since, errs[2] = searchTime("created_after", q.CreatedAfter)
	f.Until, errs[3] = searchTime("created_before", q.CreatedBefore)
	f.Domain, errs[4] = searchDomain("domain", q.Domain)
	f.KeyID, errs[5] = searchID("key_id", q.KeyID)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	f.Tag.Name, f.TagName = q.Tag, true
	if i := strings.IndexAny(q.Tag, ":="); i >= 0 { // tags contain neither character
		f.Tag, f.TagName = app.Tag{Name: q.Tag[:i], Value: q.Tag[i+1:]}, false
	}
	switch {
	case len(q.Subject) > maxSearchText:
		return nil, app.Invalid("subject", "can be at most %d bytes long", maxSearchText)
	case !valid:
		return nil, app.Invalid("status", "must be values of last_event, with commas between them")
	case q.Source != "" && !slices.Contains(Sources, q.Source):
		return nil, app.Invalid("source", "must be one of %s", strings.Join(Sources, ", "))
	case q.Tag != "" && f.Tag.Name == "", len(q.Tag) > 2*app.MaxTagLength+1:
		return nil, app.Invalid("tag", "must be the name of a tag, or its name and value as name:value or name=value")
	}
	return f, nil
}

// stateNames lists all states of emails, for an error message.
func stateNames() string {
	var names []string
	for _, state := range app.States() {
		names = append(names, string(state))
	}
	return strings.Join(names, ", ")
}

// addressPattern parses an address filter: a complete address matches itself, @example.com its
// domain, and a text that ends in * or has no @ a prefix.
func addressPattern(name, text string) (p db.AddressPattern, err error) {
	start, prefix := strings.CutSuffix(text, "*")
	local, domain, hasAt := strings.Cut(text, "@")
	switch {
	case text == "":
	case len(text) > maxSearchText || start == "" || strings.Contains(start, "*"):
		return p, app.Invalid(name, "must be an address, the beginning of one like ann*, or @ and a domain")
	case prefix || !hasAt || domain == "" && local != "":
		p.Prefix = start
	case local == "":
		p.Domain, err = searchDomain(name, domain)
	default:
		address, err := app.ParseAddress(text)
		if err != nil {
			return p, app.Invalid(name, "must be an address, the beginning of one like ann*, or @ and a domain")
		}
		p.Exact = address.Mailbox()
	}
	return p, err
}

// searchDomain normalizes a domain name as in addresses.
func searchDomain(name, text string) (string, error) {
	if text == "" && name == "domain" {
		return "", nil
	}
	address, err := app.ParseAddress("x@" + text)
	if err != nil {
		return "", app.Invalid(name, "must be the name of a domain")
	}
	return address.Domain, nil
}

func searchTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 1970 {
		return at, app.Invalid(name, "must be a time like 2026-01-31T12:00:00Z")
	}
	return at, nil
}

func searchID(name, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	id, ok := app.ParseID(text)
	if !ok {
		return "", app.Invalid(name, "must be an id")
	}
	return id, nil
}

// broadcastEmails lists the emails of a broadcast. It supports no other filters: the list of
// recipients has them.
func (s *Search) broadcastEmails(ctx context.Context, key *app.Key, q SearchQuery, page app.Page) (*FoundEmails, error) {
	id, err := searchID("broadcast_id", q.BroadcastID)
	if err != nil {
		return nil, err
	}
	if q.BroadcastID = ""; q != (SearchQuery{}) {
		return nil, app.Invalid("broadcast_id", "can't be combined with other filters: GET /broadcasts/{id}/recipients filters the recipients of a broadcast")
	}
	var b app.Broadcast
	var rows []app.BroadcastRecipient
	var situations []app.Situation
	var found FoundEmails
	err = s.service.DB.Read(ctx, func(r *db.Reader) error {
		if b, err = r.BroadcastHead(key.TeamID, id); err != nil {
			return err
		}
		if rows, found.More, err = r.ListRecipients(ctx, db.Effort{}, &b, &app.RecipientQuery{}, page); err != nil {
			return err
		}
		situations, err = audience.Situations(r, &b, rows...)
		return err
	})
	if b.ID == "" {
		return nil, base.Lookup("broadcast", err)
	}
	if err != nil || len(rows) == 0 {
		return &found, base.Cursor(page, err)
	}
	content, err := s.service.BroadcastMail(ctx, key.TeamID, id)
	if err != nil {
		return nil, base.Unavailable(err)
	}
	for i := range rows {
		email := headOf(&b, &rows[i])
		email.Situation = situations[i]
		email.Mail = *content.Partial(s.service.Sealer, &rows[i])
		if rows[i].Email == app.Erased {
			email.To = []app.Address{{Local: app.Erased}}
		}
		found.Emails = append(found.Emails, *email)
	}
	if found.More {
		found.SearchedTo = cursorOf(found.Emails, page)
	}
	return &found, nil
}

// cursorOf returns the cursor after a full page.
func cursorOf(emails []app.Email, page app.Page) string {
	if page.Before != "" {
		return emails[0].ID
	}
	return emails[len(emails)-1].ID
}

// The index of recipients is filled after acceptance, so that sends do not wait for it.
const (
	// indexDelay is how long after its id an email is surely committed.
	indexDelay = time.Minute
	// reindexWindow is how much of the index a new process checks again: ids are out of order if
	// the clock was set back.
	reindexWindow = 24 * time.Hour
	// indexPauseFactor is how much longer than it works the job pauses, so that it slows sending by
	// less than 3 %.
	indexPauseFactor = 40
)

// IndexRecipients is the cron job that indexes emails by recipient, so that Emails finds them. It
// runs every minute, at most once at a time.
func (s *Search) IndexRecipients(ctx context.Context) error {
	for {
		began, last := time.Now(), ""
		err := s.service.DB.Write(ctx, func(tx *db.Tx) (err error) {
			if s.indexed == "" {
				if last, err = tx.IndexedRecipients(); err != nil {
					return err
				}
				s.indexed = idBefore(last, reindexWindow)
			}
			last, err = tx.IndexRecipients(s.indexed, app.FirstID(tx.Now.Add(-indexDelay)))
			return err
		})
		if err != nil || last == "" {
			return err
		}
		s.indexed = last
		if !base.Sleep(ctx, indexPauseFactor*time.Since(began), nil) {
			return ctx.Err()
		}
	}
}

// idBefore returns the first id of a time earlier than the time of an id.
func idBefore(id string, by time.Duration) string {
	ms, err := strconv.ParseInt(strings.ReplaceAll(id[:min(len(id), 13)], "-", ""), 16, 64)
	if err != nil {
		return ""
	}
	return app.FirstID(time.UnixMilli(ms).Add(-by))
}
