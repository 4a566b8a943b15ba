package db

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// EmailFilter selects emails of a team. Empty fields match all emails.
type EmailFilter struct {
	To      AddressPattern // any recipient of the envelope
	From    AddressPattern
	Domain  string // of the sender
	Subject string // substring; the case of ASCII letters is ignored
	Tag     app.Tag
	TagName bool            // Tag is a name without value
	Status  []app.LastEvent // any of these
	State   []app.State     // any of these
	Source  string
	KeyID   string
	Since   time.Time // created then or later
	Until   time.Time // created before
}

// AddressPattern matches addresses in lower case. At most one of its fields is set.
type AddressPattern struct {
	Exact  string
	Prefix string // of the address
	Domain string
}

// SearchBound ends a search that has not filled its page.
type SearchBound struct {
	Rows int // emails examined
	Time time.Duration
}

// FoundEmails is the result of a search.
type FoundEmails struct {
	Emails []app.Email // newest first
	More   bool        // there may be more: after the page, or not examined yet
	// SearchedTo is the last email that was examined, the cursor of the next page; empty at
	// the end of the search.
	SearchedTo string
	Examined   int // upper bound of the emails that were examined
}

const (
	// searchPiece is the number of emails that one statement of a search examines, in about 5
	// ms.
	searchPiece = 500
	// maxPrefixed is the most recipients that are looked up by address prefix. A prefix with
	// more recipients is found faster by scanning the newest emails.
	maxPrefixed = 1000
)

// emailFits is the condition on a matching email. Its parameters are emailSearch.args from
// the fourth on.
const emailFits = `(?4 = '' OR instr(lower(e.sender), ?4) > 0) AND (?5 = '' OR instr(lower(e.sender), ?5) > 0)
	AND (?6 = '' OR instr(lower(e.subject), ?6) > 0) AND (?7 = '' OR instr(e.tags, ?7) > 0) AND (?8 = '' OR instr(?8, ' ' || e.last_event || ' ') > 0)
	AND (?9 = '' OR e.key_id = ?9) AND (?10 = '' OR e.source = ?10) AND (?14 = '' OR instr(?14, ' ' || e.last_event || '/' || ` + emailSituation + ` || ' ') > 0)
	AND (CAST(?15 AS bigint) = 1 OR e.unsent = 0) AND e.for_opt_in IS NULL`

// emailGoesTo is the same condition for the envelope.
const emailGoesTo = `(?11 = '' AND ?12 = '' AND ?13 = '' OR EXISTS (SELECT 1 FROM recipients AS p WHERE p.email_id = e.id
	AND (?11 = '' OR lower(p.address) = ?11) AND substr(lower(p.address), 1, length(?12)) = ?12
	AND (?13 = '' OR substr(lower(p.address), -length(?13)) = ?13)))`

// heldOrDeferred is the condition of the index units_stopped.
const heldOrDeferred = `w.broadcast_id IS NULL AND (w.state = 'held' OR w.deferred_at IS NOT NULL)`

// emailSearch is the state of a running search.
type emailSearch struct {
	r      *Reader
	team   string
	newer  bool    // from old to new
	to     string  // an address to look up in the index; empty: none
	needle [12]any // parameters of emailFits and emailGoesTo
	parts  []searchPart
}

// searchPart is a range of ids to search: from lo on, below hi.
type searchPart struct {
	lo, hi  string
	indexed bool     // use the index of recipients
	stopped bool     // use the index of held and deferred units
	ids     []string // only these, in search order; nil: all
}

// SearchEmails returns a page of a team's emails that match a filter. It starts at the
// page's cursor, whose email may have been deleted, and returns what it found when it
// reaches its bound. Addresses, and prefixes with few recipients, are looked up in an
// index.
func (r *Reader) SearchEmails(teamID string, f *EmailFilter, page app.Page, bound SearchBound) (found FoundEmails, err error) {
	s, err := newEmailSearch(r, teamID, f, page)
	if err != nil {
		return found, err
	}
	end := time.Now().Add(bound.Time)
	for len(s.parts) > 0 && len(found.Emails) <= page.Limit {
		if found.SearchedTo != "" && (found.Examined >= bound.Rows || !time.Now().Before(end)) {
			found.More = true
			return s.inOrder(found), nil
		}
		rows, edge, err := s.piece(page.Limit + 1 - len(found.Emails))
		if err != nil {
			return found, err
		}
		found.Emails = append(found.Emails, rows...)
		found.SearchedTo = edge
		found.Examined += searchPiece
	}
	return s.inOrder(found.cut(page.Limit)), nil
}

func newEmailSearch(r *Reader, teamID string, f *EmailFilter, page app.Page) (*emailSearch, error) {
	s := &emailSearch{r: r, team: teamID, newer: page.Before != "", to: lowerASCII(f.To.Exact)}
	tag, err := tagNeedle(f)
	if err != nil {
		return nil, err
	}
	from, err := senderNeedle(f.From)
	if err != nil {
		return nil, err
	}
	domain, err := senderNeedle(AddressPattern{Domain: f.Domain})
	if err != nil {
		return nil, err
	}
	suffix := ""
	if f.To.Domain != "" {
		suffix = "@" + f.To.Domain
	}
	begin := lowerASCII(f.To.Prefix)
	s.needle = [...]any{from, domain, lowerASCII(f.Subject), tag, statusNeedle(f.Status), f.KeyID, f.Source, s.to, begin, suffix, stateNeedle(f.State), f.asksUnsent()}
	return s, s.plan(f, page, begin)
}

// plan sets the parts to search: by index for the address of the filter, and all emails
// that are not in the index yet.
func (s *emailSearch) plan(f *EmailFilter, page app.Page, begin string) error {
	all := searchPart{hi: lastID}
	if !f.Since.IsZero() {
		all.lo = app.FirstID(f.Since)
	}
	if !f.Until.IsZero() {
		all.hi = app.FirstID(f.Until)
	}
	if page.After != "" {
		all.hi = min(all.hi, page.After)
	}
	if s.newer {
		all.lo = max(all.lo, page.Before+" ") // after the cursor, before the next id
	}
	all.stopped = stopped(f.State)
	s.parts = []searchPart{all}
	if all.stopped || s.to == "" && begin == "" {
		return nil
	}
	indexed, err := s.r.IndexedRecipients()
	if err != nil {
		return err
	}
	indexedPart, unindexed := all, all
	indexedPart.hi, unindexed.lo = min(all.hi, indexed+" "), max(all.lo, indexed+" ")
	indexedPart.indexed = s.to != ""
	if begin != "" {
		few := false
		if indexedPart.ids, few, err = s.prefixed(begin, indexedPart); err != nil || !few {
			return err
		}
	}
	s.parts = []searchPart{unindexed, indexedPart}
	if s.newer {
		slices.Reverse(s.parts)
	}
	return nil
}

// prefixed returns the emails of a part to addresses with a prefix, in search order. few
// is false if there are too many.
func (s *emailSearch) prefixed(begin string, p searchPart) (ids []string, few bool, err error) {
	ids, err = list(s.r, scanText, `SELECT email_id FROM recipients WHERE team_id = ? AND lower(address) >= ? AND lower(address) < ? LIMIT ?`,
		s.team, begin, begin+"\U0010ffff", maxPrefixed)
	if err != nil || len(ids) == maxPrefixed {
		return nil, false, err
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id < p.lo || id >= p.hi })
	if !s.newer {
		slices.Reverse(ids)
	}
	return append([]string{}, ids...), true, nil
}

// statusNeedle joins statuses with spaces around each.
func statusNeedle(all []app.LastEvent) (text string) {
	for _, status := range all {
		text += " " + string(status) + " "
	}
	return text
}

// stateNeedle joins the pairs of last event and situation that make up the states, with
// spaces around each.
func stateNeedle(all []app.State) (text string) {
	if len(all) == 0 {
		return ""
	}
	for _, last := range app.LastEvents() {
		for _, now := range app.Situations() {
			if slices.Contains(all, app.StateOf(last, now)) {
				text += " " + string(last) + "/" + string(now) + " "
			}
		}
	}
	return text
}

// asksUnsent reports whether the filter includes refused sends.
func (f *EmailFilter) asksUnsent() bool {
	return slices.Contains(f.Status, app.Suppressed) || slices.Contains(f.State, app.State(app.Suppressed))
}

// stopped reports whether the index of held and deferred units finds all emails with these
// states.
func stopped(all []app.State) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(s app.State) bool { return s != app.Held && s != app.Deferred })
}

// tagNeedle returns a substring of the tags column of emails with the filter's tag.
func tagNeedle(f *EmailFilter) (string, error) {
	if f.Tag.Name == "" {
		return "", nil
	}
	text, err := jsonText(f.Tag)
	if f.TagName {
		text, _, _ = strings.Cut(text, `"value":`)
	}
	return text, err
}

// senderNeedle returns a substring of the sender column of emails from an address. A
// display name cannot contain it, because quotation marks in JSON are escaped.
func senderNeedle(p AddressPattern) (string, error) {
	local, domain, hasAt := strings.Cut(lowerASCII(cmp.Or(p.Exact, p.Prefix)), "@")
	first, err := jsonText(local)
	if err != nil {
		return "", err
	}
	second, err := jsonText(cmp.Or(domain, p.Domain))
	switch {
	case p == AddressPattern{}:
		return "", err
	case p.Domain != "":
		return `"domain":` + second + "}", err
	case !hasAt:
		return `"local":` + strings.TrimSuffix(first, `"`), err
	case p.Prefix != "":
		return `"local":` + first + `,"domain":` + strings.TrimSuffix(second, `"`), err
	}
	return `"local":` + first + `,"domain":` + second + "}", err
}

func (s *emailSearch) args(p searchPart, more ...any) []any {
	return append(append([]any{s.team, p.lo, p.hi}, s.needle[:]...), more...)
}

// piece examines the next emails. It returns at most limit matching ones and the last one
// examined; empty at the end of the part.
func (s *emailSearch) piece(limit int) (rows []app.Email, edge string, err error) {
	p := &s.parts[0]
	if p.ids != nil {
		rows, err = s.among(p.ids, limit)
		s.parts = s.parts[1:]
		return rows, "", err
	}
	now := *p
	edge, err = s.searchPieceEnd(now)
	switch {
	case errors.Is(err, ErrNotFound):
		s.parts = s.parts[1:]
	case err != nil:
		return nil, "", err
	case s.newer:
		now.hi = edge + " "
		p.lo = now.hi
	default:
		now.lo = edge
		p.hi = edge
	}
	rows, err = s.searched(now, limit)
	return rows, edge, err
}

// searchPieceEnd returns the last email of a piece. Error: ErrNotFound if fewer are left.
func (s *emailSearch) searchPieceEnd(p searchPart) (id string, err error) {
	args := []any{s.team, p.lo, p.hi, searchPiece - 1}
	switch {
	case p.stopped && s.newer:
		err = s.r.Row(`SELECT w.email_id FROM units AS w WHERE w.team_id = ?1 AND w.email_id >= ?2 AND w.email_id < ?3 AND `+heldOrDeferred+` ORDER BY w.email_id LIMIT 1 OFFSET ?4`, args, &id)
	case p.stopped:
		err = s.r.Row(`SELECT w.email_id FROM units AS w WHERE w.team_id = ?1 AND w.email_id >= ?2 AND w.email_id < ?3 AND `+heldOrDeferred+` ORDER BY w.email_id DESC LIMIT 1 OFFSET ?4`, args, &id)
	case p.indexed && s.newer:
		err = s.r.Row(`SELECT email_id FROM recipients WHERE team_id = ?1 AND lower(address) = ?5 AND email_id >= ?2 AND email_id < ?3 ORDER BY email_id LIMIT 1 OFFSET ?4`, append(args, s.to), &id)
	case p.indexed:
		err = s.r.Row(`SELECT email_id FROM recipients WHERE team_id = ?1 AND lower(address) = ?5 AND email_id >= ?2 AND email_id < ?3 ORDER BY email_id DESC LIMIT 1 OFFSET ?4`, append(args, s.to), &id)
	case s.newer:
		err = s.r.Row(`SELECT id FROM emails WHERE team_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1 OFFSET ?4`, args, &id)
	default:
		err = s.r.Row(`SELECT id FROM emails WHERE team_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC LIMIT 1 OFFSET ?4`, args, &id)
	}
	return id, err
}

// searched returns the matching emails of a piece in search order.
func (s *emailSearch) searched(p searchPart, limit int) ([]app.Email, error) {
	args := s.args(p, limit)
	switch {
	case p.stopped && s.newer:
		return list(s.r, scanEmail, `SELECT `+emailColumns+` FROM units AS w CROSS JOIN emails AS e ON e.id = w.email_id
			WHERE w.team_id = ?1 AND w.email_id >= ?2 AND w.email_id < ?3 AND `+heldOrDeferred+` AND `+emailFits+` AND `+emailGoesTo+` ORDER BY w.email_id LIMIT ?16`, args...)
	case p.stopped:
		return list(s.r, scanEmail, `SELECT `+emailColumns+` FROM units AS w CROSS JOIN emails AS e ON e.id = w.email_id
			WHERE w.team_id = ?1 AND w.email_id >= ?2 AND w.email_id < ?3 AND `+heldOrDeferred+` AND `+emailFits+` AND `+emailGoesTo+` ORDER BY w.email_id DESC LIMIT ?16`, args...)
	case p.indexed && s.newer:
		return list(s.r, scanEmail, `SELECT `+emailColumns+` FROM recipients AS r CROSS JOIN emails AS e ON e.id = r.email_id
			WHERE r.team_id = ?1 AND lower(r.address) = ?11 AND r.email_id >= ?2 AND r.email_id < ?3 AND ?12 = '' AND ?13 = '' AND `+emailFits+` ORDER BY r.email_id LIMIT ?16`, args...)
	case p.indexed:
		return list(s.r, scanEmail, `SELECT `+emailColumns+` FROM recipients AS r CROSS JOIN emails AS e ON e.id = r.email_id
			WHERE r.team_id = ?1 AND lower(r.address) = ?11 AND r.email_id >= ?2 AND r.email_id < ?3 AND ?12 = '' AND ?13 = '' AND `+emailFits+` ORDER BY r.email_id DESC LIMIT ?16`, args...)
	case s.newer:
		return list(s.r, scanEmail, `SELECT `+emailColumns+` FROM emails AS e
			WHERE e.team_id = ?1 AND e.id >= ?2 AND e.id < ?3 AND `+emailFits+` AND `+emailGoesTo+` ORDER BY e.id LIMIT ?16`, args...)
	}
	return list(s.r, scanEmail, `SELECT `+emailColumns+` FROM emails AS e
		WHERE e.team_id = ?1 AND e.id >= ?2 AND e.id < ?3 AND `+emailFits+` AND `+emailGoesTo+` ORDER BY e.id DESC LIMIT ?16`, args...)
}

// among examines the given emails one by one.
func (s *emailSearch) among(ids []string, limit int) (out []app.Email, err error) {
	for _, id := range ids {
		rows, err := s.searched(searchPart{lo: id, hi: id + " "}, 1)
		if err != nil {
			return nil, err
		}
		if out = append(out, rows...); len(out) == limit {
			break
		}
	}
	return out, nil
}

// cut limits the result to one page.
func (f FoundEmails) cut(limit int) FoundEmails {
	if f.More = len(f.Emails) > limit; f.More {
		f.Emails = f.Emails[:limit]
		f.SearchedTo = f.Emails[limit-1].ID
		return f
	}
	f.SearchedTo = ""
	return f
}

// inOrder reverses a result that was searched from old to new.
func (s *emailSearch) inOrder(f FoundEmails) FoundEmails {
	if s.newer {
		slices.Reverse(f.Emails)
	}
	return f
}

// indexedSetting is the setting with the last email whose recipients are in the index.
const indexedSetting = "recipients indexed"

// indexPiece is the number of recipients that one Write adds to the index, in about 20 ms.
const indexPiece = 500

// IndexedRecipients returns the last email whose recipients are in the index; empty if
// there is none.
func (r *Reader) IndexedRecipients() (emailID string, err error) {
	value, err := r.Setting(indexedSetting)
	return string(value), ignoreNotFound(err)
}

// IndexRecipients adds the recipients of the next emails with ids after after and below
// before to the index. It returns the last email; empty at the end.
func (tx *Tx) IndexRecipients(after, before string) (last string, err error) {
	err = tx.Row(`SELECT email_id FROM recipients WHERE email_id > ? AND email_id < ? ORDER BY email_id LIMIT 1 OFFSET ?`, []any{after, before, indexPiece - 1}, &last)
	if errors.Is(err, ErrNotFound) {
		err = tx.Row(`SELECT email_id FROM recipients WHERE email_id > ? AND email_id < ? ORDER BY email_id DESC LIMIT 1`, []any{after, before}, &last)
	}
	if err != nil {
		return "", ignoreNotFound(err)
	}
	if err := tx.Write(`UPDATE recipients SET team_id = (SELECT e.team_id FROM emails AS e WHERE e.id = recipients.email_id)
		WHERE email_id > ? AND email_id <= ? AND team_id IS NULL`, after, last); err != nil {
		return "", err
	}
	indexed, err := tx.IndexedRecipients()
	if err != nil || last <= indexed {
		return last, err
	}
	return last, tx.SetSetting(indexedSetting, []byte(last))
}
