package db

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// EmailFilter picks emails of a team. What is empty picks all.
type EmailFilter struct {
	To      AddressPattern // anybody of the envelope
	From    AddressPattern
	Domain  string // of the sender
	Subject string // a part of it; the case of ASCII letters does not matter
	Tag     app.Tag
	TagName bool            // Tag has a name alone
	Status  []app.LastEvent // WriteOne of them
	State   []app.State     // WriteOne of them
	Source  string
	KeyID   string
	Since   time.Time // created then or later
	Until   time.Time // created before
}

// AddressPattern is what an address is held against, in lower case; at most one of its
// fields is set.
type AddressPattern struct {
	Exact  string
	Prefix string // how it begins
	Domain string
}

// SearchBound says when a search ends that has not filled its page.
type SearchBound struct {
	Rows int // that were looked at
	Time time.Duration
}

// FoundEmails is what a search came to.
type FoundEmails struct {
	Emails []app.Email // newest first
	More   bool        // there may be more: behind the page, or where nobody looked
	// SearchedTo is the last email that was looked at, from where the next page goes on;
	// empty: there are no others.
	SearchedTo string
	Examined   int // how many emails were looked at, at most
}

const (
	// searchPiece is how many emails one statement of a search looks at: some 5 ms.
	searchPiece = 500
	// maxPrefixed is how many recipients the index is asked for by the beginning of an
	// address. What has more of them is found sooner by looking at the newest emails.
	maxPrefixed = 1000
)

// emailFits is what an email must fulfil to be found. Its parameters are the fourth and
// the following ones of emailSearch.args.
const emailFits = `(?4 = '' OR instr(lower(e.sender), ?4) > 0) AND (?5 = '' OR instr(lower(e.sender), ?5) > 0)
	AND (?6 = '' OR instr(lower(e.subject), ?6) > 0) AND (?7 = '' OR instr(e.tags, ?7) > 0) AND (?8 = '' OR instr(?8, ' ' || e.last_event || ' ') > 0)
	AND (?9 = '' OR e.key_id = ?9) AND (?10 = '' OR e.source = ?10) AND (?14 = '' OR instr(?14, ' ' || e.last_event || '/' || ` + emailSituation + ` || ' ') > 0)
	AND (CAST(?15 AS bigint) = 1 OR e.unsent = 0)`

// emailGoesTo is the same of its envelope.
const emailGoesTo = `(?11 = '' AND ?12 = '' AND ?13 = '' OR EXISTS (SELECT 1 FROM recipients AS p WHERE p.email_id = e.id
	AND (?11 = '' OR lower(p.address) = ?11) AND substr(lower(p.address), 1, length(?12)) = ?12
	AND (?13 = '' OR substr(lower(p.address), -length(?13)) = ?13)))`

// heldOrDeferred is the condition of the index units_stopped.
const heldOrDeferred = `w.broadcast_id IS NULL AND (w.state = 'held' OR w.deferred_at IS NOT NULL)`

// emailSearch is a search on its way.
type emailSearch struct {
	r      *Reader
	team   string
	newer  bool    // it goes from old to new
	to     string  // an address that the index is asked for; empty: none
	needle [12]any // parameters of emailFits and emailGoesTo
	parts  []searchPart
}

// searchPart is a part of what is to be looked at: emails with ids from lo on, below hi.
type searchPart struct {
	lo, hi  string
	indexed bool     // it is walked by the index of recipients
	stopped bool     // it is walked by the index of open work that is held or was put off
	ids     []string // those alone, in the order of the search; nil: all
}

// SearchEmails returns a page of those emails of a team that fit a filter. It looks at
// emails from the page's cursor on, which need not exist any more, and ends early where
// its bound says so: what it found until then is answered. An address is found by index,
// the beginning of one where few fit.
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

// plan sets the parts that are to be looked at: by index where that finds an address, and
// all emails that it does not know yet.
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
		all.lo = max(all.lo, page.Before+" ") // behind it, before all others
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

// prefixed returns the emails of a part to addresses that begin so, in the order of the
// search; few is false where there are too many.
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

// statusNeedle has each status between spaces.
func statusNeedle(all []app.LastEvent) (text string) {
	for _, status := range all {
		text += " " + string(status) + " "
	}
	return text
}

// stateNeedle has each pair of last event and situation that gives one of the states
// between spaces.
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

// asksUnsent reports whether refused sends are found too.
func (f *EmailFilter) asksUnsent() bool {
	return slices.Contains(f.Status, app.Suppressed) || slices.Contains(f.State, app.State(app.Suppressed))
}

// stopped reports whether all of the states are found by the index of what is held or was
// put off.
func stopped(all []app.State) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(s app.State) bool { return s != app.Held && s != app.Deferred })
}

// tagNeedle is what stands in the column of an email with the filter's tag.
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

// senderNeedle is what stands in the column of an email from an address. No name can hold
// it: a quotation mark in one has a backslash.
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

// piece looks at the next emails and returns those that fit, at most limit, and the last
// WriteOne that was looked at; empty: its part is over.
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

// searchPieceEnd returns the last email of a piece. Error: ErrNotFound where there are fewer left.
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

// searched returns the emails of a piece that fit, in the order of the search.
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

// among looks at emails one by one.
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

// cut takes what is more than a page off what was found.
func (f FoundEmails) cut(limit int) FoundEmails {
	if f.More = len(f.Emails) > limit; f.More {
		f.Emails = f.Emails[:limit]
		f.SearchedTo = f.Emails[limit-1].ID
		return f
	}
	f.SearchedTo = ""
	return f
}

// inOrder puts what was found from old to new into the order of the list.
func (s *emailSearch) inOrder(f FoundEmails) FoundEmails {
	if s.newer {
		slices.Reverse(f.Emails)
	}
	return f
}

// indexedSetting names the last email whose recipients are in their index.
const indexedSetting = "recipients indexed"

// indexPiece is how many recipients one Write puts into their index: some 20 ms.
const indexPiece = 500

// IndexedRecipients returns the last email whose recipients are in their index; empty:
// none.
func (r *Reader) IndexedRecipients() (emailID string, err error) {
	value, err := r.Setting(indexedSetting)
	return string(value), ignoreNotFound(err)
}

// IndexRecipients puts the recipients of the next emails into their index, of those with
// ids behind after and below before, and returns the last one; empty: there are none.
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
