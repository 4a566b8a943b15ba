package listmonk

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
)

// File names of positions and refusals. The line is the listmonk id.
const (
	inSubscribers = "subscribers"
	inBounces     = "bounces"
)

func (r *reader) readLists(ctx context.Context) error {
	return r.readByID(ctx, &paged{kind: archive.Topics, path: "/api/lists", query: inOrder("created_at"), size: perPage, take: func(raw jsontext.Value, at int) error {
		var l list
		if err := decode(raw, &l); err != nil || l.ID < 1 {
			return r.w.Put(archive.Unmovables, &archive.Unmovable{Item: fmt.Sprintf("list %d of the answer", at), Reason: errShape.Error()})
		}
		_, err := r.list(&l)
		return err
	}})
}

func inOrder(by string) url.Values { return url.Values{"order_by": {by}, "order": {"asc"}} }

const reasonArchived = "it is archived there: its topic is private here, so that preferences pages do not offer it"

// list writes a topic or segment for a list that was not seen before.
func (r *reader) list(l *list) (knownList, error) {
	k, seen := r.s.Lists[l.ID]
	if seen {
		return k, nil
	}
	k = knownList{Topic: l.Type == public, Double: l.Optin != single}
	r.s.Lists[l.ID] = k
	id := strconv.FormatInt(l.ID, 10)
	kind, maxLength := archive.Segments, app.MaxSegmentName
	if k.Topic {
		kind, maxLength = archive.Topics, app.MaxTopicName
	}
	name, err := r.name(kind, "list", l.Name, l.ID, maxLength)
	if err != nil {
		return k, err
	}
	if !k.Topic {
		return k, r.w.Put(kind, &archive.Segment{ID: id, Name: name, CreatedAt: l.CreatedAt.Time})
	}
	visibility := app.PublicTopic
	if l.Status == archived { // nobody can join it in listmonk either
		visibility = app.PrivateTopic
		if err := r.unmovable(fmt.Sprintf("list %q", name), reasonArchived); err != nil {
			return k, err
		}
	}
	return k, r.w.Put(kind, &archive.Topic{ID: id, Name: name, Description: cut(line(l.Description), app.MaxTopicDescription),
		Default: app.OptOut, Visibility: visibility, CreatedAt: l.CreatedAt.Time, UpdatedAt: l.UpdatedAt.Time})
}

// name returns a valid, unique name for an object and reports a changed name: listmonk identifies
// objects by number.
func (r *reader) name(kind archive.Kind, what, given string, id int64, maxLength int) (string, error) {
	mark := fmt.Sprintf(" (%d)", id)
	name := cut(line(given), maxLength)
	if name == "" {
		name = strings.TrimSpace(what + mark)
	}
	key := func() string { return string(kind) + ":" + strings.ToLower(name) }
	if owner, taken := r.s.Names[key()]; taken && owner != id {
		name = cut(name, maxLength-len(mark)) + mark
	}
	r.s.Names[key()] = id
	if name == strings.TrimSpace(given) {
		return name, nil
	}
	return name, r.unmovable(fmt.Sprintf("the name of %s %d, %q", what, id, app.Excerpt(given)), fmt.Sprintf("it can't stand here as it is, or another has it: it is %q here", name))
}

func (r *reader) unmovable(what, why string) error {
	return r.w.Put(archive.Unmovables, &archive.Unmovable{Item: what, Reason: why})
}

// odd counts an unmovable thing, which is reported once for all subscribers.
func (r *reader) odd(what, why string) {
	key := what + "\x00" + why
	if _, there := r.s.Odd[key]; !there && len(r.s.Odd) >= maxOdd {
		key = "further things of subscribers\x00each is like one that is named here"
	}
	r.s.Odd[key]++
}

// maxOdd is how many different things are counted.
const maxOdd = 1000

// line returns a text without line breaks and other control characters.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, " "), func(c rune) bool { return unicode.IsSpace(c) || app.HasControl(string(c)) }), " ")
}

// cut shortens a text to a number of characters.
func cut(s string, maxLength int) string {
	if utf8.RuneCountInString(s) <= maxLength {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:maxLength]))
}

func (r *reader) readSubscribers(ctx context.Context) error {
	return r.readByID(ctx, &paged{kind: archive.Contacts, path: "/api/subscribers", query: inOrder("id"), size: perPage, take: func(raw jsontext.Value, at int) error {
		var s subscriber
		if err := decode(raw, &s); err != nil || s.Email == "" {
			return r.refuse(inSubscribers, at)
		}
		return r.subscriber(&s)
	}})
}

// refuse reports an item without an id by its position.
func (r *reader) refuse(file string, at int) error {
	refusal := &archive.Refusal{Position: archive.Position{File: file, Line: at}, Reason: errShape.Error()}
	if file == inBounces {
		refusal.Kind = archive.Suppressions
	}
	return r.w.Put(archive.Refusals, refusal)
}

// subscriber writes the data of a subscriber.
func (r *reader) subscriber(s *subscriber) error {
	if err := r.statusOf(s); err != nil {
		return err
	}
	c := archive.Contact{Email: s.Email, Unsubscribed: s.Status != enabled, CreatedAt: s.CreatedAt.Time, UpdatedAt: s.UpdatedAt.Time, From: s.position()}
	first, last, _ := strings.Cut(line(s.Name), " ")
	c.FirstName, c.LastName = cut(first, app.MaxContactName), cut(last, app.MaxContactName)
	c.Properties = r.properties(s.Attribs)
	for i := range s.Lists {
		m := &s.Lists[i]
		k, err := r.list(&m.list)
		if err != nil {
			return err
		}
		if gets := s.receives(m, k.Double); gets && k.Topic {
			err = r.choice(s, m, app.OptIn)
		} else if gets {
			c.Segments = append(c.Segments, strconv.FormatInt(m.ID, 10))
		} else if !k.Topic && m.Status == unsubscribed {
			c.Left = append(c.Left, strconv.FormatInt(m.ID, 10))
		}
		if err != nil {
			return err
		}
	}
	return r.w.Put(archive.Contacts, &c)
}

func (s *subscriber) position() archive.Position {
	return archive.Position{File: inSubscribers, Line: int(s.ID)}
}

// statusOf writes the opt-outs of a subscriber: each public list whose mail it does not get,
// including unconfirmed subscriptions, or all mail.
func (r *reader) statusOf(s *subscriber) error {
	if s.isBlocked() {
		err := r.w.Put(archive.Suppressions, &archive.Suppression{Email: s.Email, Origin: app.OriginUnsubscribe, CreatedAt: s.UpdatedAt.Time, From: s.position()})
		if err != nil {
			return err
		}
	}
	for i := range s.Lists {
		m := &s.Lists[i]
		k, err := r.list(&m.list)
		if err == nil && k.Topic && !s.receives(m, k.Double) {
			err = r.choice(s, m, app.OptOut)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) choice(s *subscriber, m *membership, subscription app.Subscription) error {
	return r.w.Put(archive.Choices, &archive.Choice{Email: s.Email, TopicID: strconv.FormatInt(m.ID, 10), Subscription: subscription, ChosenAt: m.Changed.Time, From: s.position()})
}

// readChanged reads subscribers that changed since the read began, which may be days ago, latest
// change first.
func (r *reader) readChanged(ctx context.Context) error {
	what := &paged{path: "/api/subscribers", query: url.Values{"order_by": {"updated_at"}, "order": {"desc"}}, size: perPage}
	var before string
	for number := 1; ; number++ {
		p, err := r.get(ctx, what, number)
		if err != nil {
			return err
		}
		for i, raw := range p.items() {
			if i == 0 && string(raw) == before {
				return fmt.Errorf("GET %s: %w", what.path, errEndless)
			}
			if i == 0 {
				before = string(raw)
			}
			var s subscriber
			if decode(raw, &s) != nil || s.Email == "" {
				continue // was reported
			}
			if s.UpdatedAt.Before(r.s.Since) {
				return nil
			}
			if err := r.changed(&s); err != nil {
				return err
			}
		}
		if len(p.items()) < p.Data.PerPage || len(p.items()) == 0 {
			return nil
		}
	}
}

// changed writes new subscribers and new opt-outs.
func (r *reader) changed(s *subscriber) error {
	if !s.CreatedAt.Before(r.s.Since) {
		return r.subscriber(s)
	}
	if err := r.statusOf(s); err != nil || s.Status == enabled {
		return err
	}
	return r.w.Put(archive.Contacts, &archive.Contact{Email: s.Email, Unsubscribed: true, From: s.position()})
}

// readOptOuts reads who left a list since the read began: this changes the membership and not the
// subscriber.
func (r *reader) readOptOuts(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(r.s.Lists)) {
		if id <= r.s.List {
			continue
		}
		query := inOrder("id")
		query["list_id"], query["subscription_status"] = []string{strconv.FormatInt(id, 10)}, []string{unsubscribed}
		err := r.readByID(ctx, &paged{kind: archive.Choices, path: "/api/subscribers", query: query, size: perPage, take: func(raw jsontext.Value, _ int) error {
			var s subscriber
			if decode(raw, &s) != nil || s.Email == "" {
				return nil // was reported
			}
			return r.left(&s, id)
		}})
		if err != nil {
			return err
		}
		r.s.List, r.s.Page = id, 0
		if err := r.mark(); err != nil {
			return err
		}
	}
	return nil
}

// left writes that a subscriber left a list after the read began.
func (r *reader) left(s *subscriber, id int64) error {
	for i := range s.Lists {
		m := &s.Lists[i]
		if m.ID != id || m.Status != unsubscribed || !m.Changed.IsZero() && m.Changed.Before(r.s.Since) {
			continue
		}
		if s.Status != enabled && !m.Changed.IsZero() { // unsubscribed by a link, which does not change the subscriber's time
			return r.changed(s)
		}
		if r.s.Lists[id].Topic {
			return r.choice(s, m, app.OptOut)
		}
		if m.Changed.IsZero() {
			r.odd("subscriptions", "this version of listmonk does not say when they changed: import once more when nothing is sent from it any longer, and look at the segments")
			continue
		}
		// A segment can't record that a member left, and the member may be in it already.
		r.odd("subscribers who left a private list while it was read", "they are unsubscribed from all, since a segment can't say who left it")
		return r.w.Put(archive.Contacts, &archive.Contact{Email: s.Email, Unsubscribed: true, From: s.position()})
	}
	return nil
}

func (r *reader) readBounces(ctx context.Context) error {
	return r.readByID(ctx, &paged{kind: archive.Suppressions, path: "/api/bounces", query: inOrder("created_at"), size: perPage, take: func(raw jsontext.Value, at int) error {
		var b bounce
		if err := decode(raw, &b); err != nil || b.Email == "" {
			return r.refuse(inBounces, at)
		}
		s := archive.Suppression{Email: b.Email, CreatedAt: b.CreatedAt.Time, From: archive.Position{File: inBounces, Line: int(b.ID)}}
		switch b.Type {
		case "hard":
			s.Origin = app.OriginBounce
		case "complaint":
			s.Origin = app.OriginComplaint
		default:
			r.s.Left++
			return nil
		}
		return r.w.Put(archive.Suppressions, &s)
	}})
}
