package resend

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
)

func (r *reader) properties(ctx context.Context) error {
	return r.walk(ctx, archive.Properties, "/contact-properties", nil, func(_ context.Context, id string, item jsontext.Value) error {
		var p struct {
			Key       string           `json:"key"`
			Type      app.PropertyType `json:"type"`
			Fallback  any              `json:"fallback_value"`
			CreatedAt stamp            `json:"created_at"`
		}
		if err := decode(item, &p); err != nil {
			return err
		}
		return r.putProperty(&archive.Property{ID: id, Key: p.Key, Type: p.Type, Fallback: p.Fallback, CreatedAt: p.CreatedAt.Time})
	})
}

func (r *reader) putProperty(p *archive.Property) error {
	if r.at.Properties == nil {
		r.at.Properties = map[string]bool{}
	}
	r.at.Properties[p.Key] = true
	return r.w.Put(archive.Properties, p)
}

func (r *reader) segments(ctx context.Context) error {
	return r.walk(ctx, archive.Segments, "/segments", nil, func(_ context.Context, id string, item jsontext.Value) error {
		return r.group(id, item, false)
	})
}

// audiences reads audiences, the former name of segments. They should be the same objects, but
// Resend does not guarantee it, and may remove the route.
func (r *reader) audiences(ctx context.Context) error {
	err := r.walk(ctx, archive.Segments, "/audiences", nil, func(_ context.Context, id string, item jsontext.Value) error {
		if slices.ContainsFunc(r.at.Groups, func(g group) bool { return g.ID == id || g.Audience == id }) {
			return nil
		}
		return r.group(id, item, true)
	})
	if isAbsent(err) {
		return nil
	}
	return err
}

// group writes a segment.
func (r *reader) group(id string, item jsontext.Value, old bool) error {
	var s struct {
		Name      string `json:"name"`
		Audience  string `json:"audience_id"`
		CreatedAt stamp  `json:"created_at"`
	}
	if err := decode(item, &s); err != nil {
		return err
	}
	r.at.Groups = append(r.at.Groups, group{ID: id, Name: s.Name, Audience: s.Audience, Old: old})
	return r.w.Put(archive.Segments, &archive.Segment{ID: id, Name: s.Name, CreatedAt: s.CreatedAt.Time})
}

type topic struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Default     app.Subscription `json:"default_subscription"`
	Visibility  app.Visibility   `json:"visibility"`
	CreatedAt   stamp            `json:"created_at"`
}

func (r *reader) topics(ctx context.Context) error {
	return r.walk(ctx, archive.Topics, "/topics", nil, func(_ context.Context, _ string, item jsontext.Value) error {
		var t topic
		if err := decode(item, &t); err != nil {
			return err
		}
		return r.putTopic(&t)
	})
}

func (r *reader) putTopic(t *topic) error {
	if r.at.Topics == nil {
		r.at.Topics = map[string]app.Subscription{}
	}
	r.at.Topics[t.ID] = t.Default
	return r.w.Put(archive.Topics, &archive.Topic{ID: t.ID, Name: t.Name, Description: t.Description, Default: t.Default, Visibility: t.Visibility, CreatedAt: t.CreatedAt.Time})
}

type contact struct {
	ID           string                    `json:"id"`
	Email        string                    `json:"email"`
	FirstName    string                    `json:"first_name"`
	LastName     string                    `json:"last_name"`
	Unsubscribed bool                      `json:"unsubscribed"`
	CreatedAt    stamp                     `json:"created_at"`
	Properties   map[string]jsontext.Value `json:"properties"` // only of a single contact
}

func (c *contact) archived() *archive.Contact {
	return &archive.Contact{ID: c.ID, Email: c.Email, FirstName: c.FirstName, LastName: c.LastName, Unsubscribed: c.Unsubscribed, CreatedAt: c.CreatedAt.Time}
}

// contacts reads all contacts.
func (r *reader) contacts(ctx context.Context) error {
	return r.walk(ctx, archive.Contacts, "/contacts", nil, func(ctx context.Context, _ string, item jsontext.Value) error {
		var c contact
		if err := decode(item, &c); err != nil {
			return err
		}
		return r.contact(ctx, &c)
	})
}

// contact writes a contact with its properties and topic choices, each with a request of its own
// if the account has any.
func (r *reader) contact(ctx context.Context, c *contact) error {
	out := c.archived()
	if len(r.at.Properties) > 0 {
		there, err := r.details(ctx, out)
		if err != nil {
			return err
		}
		if !there && !out.Unsubscribed { // deleted meanwhile; an opt-out is kept
			return nil
		}
	}
	if len(r.at.Topics) > 0 {
		if err := r.choices(ctx, c); err != nil {
			return err
		}
	}
	return r.w.Put(archive.Contacts, out)
}

// details reads the properties of a contact.
func (r *reader) details(ctx context.Context, out *archive.Contact) (there bool, err error) {
	var full contact
	there, err = r.one(ctx, "/contacts", out.ID, &full)
	if !there {
		return false, err
	}
	out.Unsubscribed = out.Unsubscribed || full.Unsubscribed
	for _, key := range slices.Sorted(maps.Keys(full.Properties)) {
		value, ok := propertyValue(full.Properties[key])
		if !ok {
			if err := r.unmovable(fmt.Sprintf("contact %s, property %q", out.ID, key), "its value is neither a text nor a number"); err != nil {
				return true, err
			}
			continue
		}
		if value == nil {
			continue
		}
		if !r.at.Properties[key] { // created meanwhile
			p := archive.Property{Key: key, Type: app.StringProperty}
			if _, is := value.(float64); is {
				p.Type = app.NumberProperty
			}
			if err := r.putProperty(&p); err != nil {
				return true, err
			}
		}
		if out.Properties == nil {
			out.Properties = map[string]any{}
		}
		out.Properties[key] = value
	}
	return true, nil
}

// propertyValue reads a value, which may be in an object together with its type; nil: none.
func propertyValue(raw jsontext.Value) (value any, ok bool) {
	if decode(raw, &value) != nil {
		return nil, false
	}
	if object, is := value.(map[string]any); is {
		if value, is = object["value"]; !is {
			return nil, false
		}
	}
	switch v := value.(type) {
	case nil, string, float64:
		return v, true
	case bool:
		return fmt.Sprint(v), true
	}
	return nil, false
}

// choices reads a contact's topic choices. Resend returns the default for topics without a choice.
// An opt-out is written in any case, so that none is lost if the topic has another default here.
// An opt-in is written only if it differs from the default.
func (r *reader) choices(ctx context.Context, c *contact) error {
	saved := r.at.place // the position in the list of contacts
	defer func() { r.at.place = saved }()
	r.at.place = place{}
	for more := true; more; {
		var err error
		more, err = r.step(ctx, "/contacts/"+url.PathEscape(c.ID)+"/topics", nil, func(ctx context.Context, topicID string, item jsontext.Value) error {
			return r.choice(ctx, c.Email, topicID, item)
		})
		if isAbsent(err) { // deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) choice(ctx context.Context, email, topicID string, item jsontext.Value) error {
	var c struct {
		Subscription app.Subscription `json:"subscription"`
	}
	if err := decode(item, &c); err != nil {
		return err
	}
	if c.Subscription != app.OptIn {
		c.Subscription = app.OptOut
	}
	normal, known := r.at.Topics[topicID]
	if !known { // created meanwhile
		var t topic
		there, err := r.one(ctx, "/topics", topicID, &t)
		if !there {
			return err
		}
		if err := r.putTopic(&t); err != nil {
			return err
		}
		normal = t.Default
	}
	if c.Subscription == app.OptIn && normal == app.OptIn {
		return nil
	}
	return r.w.Put(archive.Choices, &archive.Choice{Email: email, TopicID: topicID, Subscription: c.Subscription})
}

// members reads the members of each segment.
func (r *reader) members(ctx context.Context) error {
	for r.at.Group < len(r.at.Groups) {
		g := &r.at.Groups[r.at.Group]
		if len(r.at.Tail) == 0 {
			if err := r.filter(ctx, g); err != nil {
				return err
			}
		}
		if err := r.membersOf(ctx, g); err != nil {
			return err
		}
		r.at.Group++
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// filter reports a segment with a filter.
func (r *reader) filter(ctx context.Context, g *group) error {
	if g.Old {
		return nil
	}
	var full struct {
		Filter jsontext.Value `json:"filter"`
	}
	there, err := r.one(ctx, "/segments", g.ID, &full)
	if !there || full.Filter == nil || string(full.Filter) == "null" || string(full.Filter) == "{}" {
		return err
	}
	return r.unmovable(fmt.Sprintf("segment %q: its filter", g.Name), "Resend's documents don't say what a filter means: the contacts of now come as members by hand; give the segment a filter here")
}

// membersOf reads the members of a segment. The route of the segment is newer than the API
// document, in which contacts are filtered by segment. It is tried first, since a service without
// the filter would return all contacts.
func (r *reader) membersOf(ctx context.Context, g *group) error {
	each := func(_ context.Context, _ string, item jsontext.Value) error {
		var c contact
		if err := decode(item, &c); err != nil {
			return err
		}
		return r.w.Put(archive.Contacts, &archive.Contact{ID: c.ID, Email: c.Email, Unsubscribed: c.Unsubscribed, Segments: []string{g.ID}, CreatedAt: c.CreatedAt.Time, Again: true})
	}
	path := "/segments/" + url.PathEscape(g.ID) + "/contacts"
	if g.Old {
		path = "/audiences/" + url.PathEscape(g.ID) + "/contacts"
	}
	if !g.ByQuery {
		err := r.walk(ctx, archive.Contacts, path, nil, each)
		if !isAbsent(err) || len(r.at.Tail) > 0 {
			return err
		}
		if g.Old {
			return r.unmovable(fmt.Sprintf("audience %q: who is in it", g.Name), "the API does not say")
		}
		if there, err := r.one(ctx, "/segments", g.ID, &struct{}{}); !there {
			return err // deleted meanwhile
		}
		g.ByQuery = true
	}
	return r.walk(ctx, archive.Contacts, "/contacts", url.Values{"segment_id": {g.ID}}, each)
}

// unsubscribed reads all contacts again, for those that unsubscribed or were created since.
func (r *reader) unsubscribed(ctx context.Context) error {
	return r.walk(ctx, archive.Contacts, "/contacts", nil, func(ctx context.Context, _ string, item jsontext.Value) error {
		var c contact
		if err := decode(item, &c); err != nil {
			return err
		}
		switch {
		case c.CreatedAt.After(r.at.Began):
			return r.contact(ctx, &c)
		case c.Unsubscribed:
			out := c.archived()
			out.Again = true
			return r.w.Put(archive.Contacts, out)
		}
		return nil
	})
}

func (r *reader) suppressions(ctx context.Context) error {
	return r.walk(ctx, archive.Suppressions, "/suppressions", nil, func(_ context.Context, id string, item jsontext.Value) error {
		var s struct {
			Email     string                `json:"email"`
			Origin    app.SuppressionOrigin `json:"origin"`
			SourceID  string                `json:"source_id"`
			CreatedAt stamp                 `json:"created_at"`
		}
		if err := decode(item, &s); err != nil {
			return err
		}
		if s.Origin.Validate() != nil { // an unknown origin counts like any other
			s.Origin = app.OriginManual
		}
		return r.w.Put(archive.Suppressions, &archive.Suppression{ID: id, Email: s.Email, Origin: s.Origin, SourceID: s.SourceID, CreatedAt: s.CreatedAt.Time})
	})
}
