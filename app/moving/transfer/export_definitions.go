package transfer

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/rules/render"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// value returns the value of a property for JSON; nil: none.
func value(v *app.PropertyValue) any {
	if v == nil {
		return nil
	}
	return v.Plain()
}

func (x *export) properties() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Property
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.PropertiesAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			p := &all[i]
			return x.put(archive.Properties, &archive.Property{ID: p.ID, Key: p.Key, Type: p.Type, Fallback: value(p.Fallback), CreatedAt: p.CreatedAt})
		})
	})
}

func (x *export) allSegments() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Segment
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.SegmentsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			s := &all[i]
			x.segments[s.ID] = true
			return x.put(archive.Segments, &archive.Segment{ID: s.ID, Name: s.Name, Filter: s.Filter, CreatedAt: s.CreatedAt})
		})
	})
}

func (x *export) allTopics() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Topic
		since := map[string]time.Time{}
		return x.rows(func(r *db.Reader) (n int, err error) {
			if all, err = r.TopicsAfter(x.team.ID, after, batchRows); err != nil {
				return 0, err
			}
			for i := range all {
				if id := all[i].ID; all[i].Archive != "" {
					if since[id], err = r.ArchiveSince(x.team.ID, id); err != nil {
						return 0, err
					}
				}
			}
			return len(all), nil
		}, func(i int) string { return all[i].ID }, func(i int) error {
			t := &all[i]
			x.topics[t.ID] = true
			return x.put(archive.Topics, &archive.Topic{ID: t.ID, Name: t.Name, Description: t.Description, Default: t.Default, Visibility: t.Visibility,
				CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Archive: t.Archive, ArchiveSince: since[t.ID]})
		})
	})
}

func (x *export) templates() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Template
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.TemplatesAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.template(all[i].ID) })
	})
}

// template writes a template with its versions from one snapshot.
func (x *export) template(id string) error {
	var t app.Template
	var edited, published app.TemplateContent
	err := x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
		if t, err = r.Template(x.team.ID, id); err != nil {
			return err
		}
		if edited, err = r.TemplateContent(x.team.ID, t.CurrentID); err != nil || t.PublishedID == "" {
			return err
		}
		published, err = r.TemplateContent(x.team.ID, t.PublishedID)
		return err
	})
	if errors.Is(err, db.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	out := archive.Template{ID: t.ID, Name: t.Name, Alias: t.Alias, Content: content(&edited), PublishedAt: t.PublishedAt, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt}
	if t.PublishedID != "" {
		c := content(&published)
		out.Published = &c
	}
	return x.put(archive.Templates, &out)
}

// design returns the visual editor's document; empty: none.
func design(text string) jsontext.Value {
	if text == "" {
		return nil
	}
	return jsontext.Value(text)
}

func content(c *app.TemplateContent) archive.Content {
	out := archive.Content{From: c.From, ReplyTo: c.ReplyTo, Subject: c.Subject, HTML: c.HTML, Text: c.Text, Design: design(c.Design), Document: document(c.Syntax, c.Variants)}
	for i := range c.Variables {
		v := &c.Variables[i]
		out.Variables = append(out.Variables, archive.Variable{ID: v.ID, Key: v.Key, Type: v.Type, Fallback: archive.JSON(value(v.Fallback)), CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt})
	}
	return out
}

// document returns the syntax and the variants of a template or broadcast.
func document(syntax app.Syntax, variants app.Variants) archive.Document {
	out := archive.Document{Syntax: string(syntax)}
	for lang, v := range variants {
		if out.Variants == nil {
			out.Variants = map[string]archive.Variant{}
		}
		out.Variants[lang] = archive.Variant{Subject: v.Subject, Preview: v.Preview, HTML: v.HTML, Text: v.Text, Design: design(v.Design)}
	}
	return out
}

func (x *export) broadcasts() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Broadcast
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.BroadcastsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.broadcast(all[i].ID) })
	})
}

func (x *export) broadcast(id string) error {
	var b *app.Broadcast
	var languages []app.LanguageCounts
	err := db.ErrNotFound
	for try := 0; try < 3 && errors.Is(err, db.ErrNotFound); try++ { // an attachment of a draft may be deleted meanwhile
		err = x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
			if b, err = r.Broadcast(x.team.ID, id); err == nil {
				languages, err = r.BroadcastLanguages(id)
			}
			return err
		})
		if err == nil {
			err = x.files(db.FilesOf(x.team.ID, "", b.Attachments))
		}
	}
	if errors.Is(err, db.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if errors.Is(err, db.ErrDamaged) {
		x.unmovable("broadcast "+id, "the database is damaged there")
		return nil
	}
	if err != nil {
		return err
	}
	b = render.Expanded(b)
	out := archive.Broadcast{ID: b.ID, Name: b.Name, SegmentID: b.SegmentID, TopicID: b.TopicID, ReplyTo: addresses(b.ReplyTo), Subject: b.Subject,
		Preview: b.Preview, HTML: b.HTML, Text: b.Text, Design: design(b.Design), Attachments: attachmentsOf(b.Attachments), Status: b.Status, Archive: b.Archive, Document: document(b.Syntax, b.Variants),
		CreatedAt: b.CreatedAt, ScheduledAt: b.ScheduledAt, QueuedAt: b.QueuedAt, SentAt: b.SentAt, CanceledAt: b.CanceledAt}
	if b.From != (app.Address{}) {
		out.From = b.From.String()
	}
	if b.Status != app.DraftBroadcast {
		out.Counts = countsOf(b)
	}
	for _, l := range languages {
		if out.Languages == nil {
			out.Languages = map[string]map[string]int{}
		}
		out.Languages[l.Language] = eventCounts(&l.BroadcastCounts)
		out.Languages[l.Language]["recipients"] = int(l.Recipients)
	}
	return x.put(archive.Broadcasts, &out)
}

// countsOf returns the counts of a broadcast under their API names.
func countsOf(b *app.Broadcast) map[string]int {
	out := eventCounts(&b.Counts)
	out["recipients"], out["remaining"] = int(b.Audience), int(b.Remaining())
	return out
}

func eventCounts(c *app.BroadcastCounts) map[string]int {
	out := map[string]int{}
	for name, n := range map[string]int64{
		"sent": c.Sent, "delivery_delayed": c.DeliveryDelayed, "delivered": c.Delivered, "opened": c.Opened, "clicked": c.Clicked, "bounced": c.Bounced,
		"complained": c.Complained, "suppressed": c.Suppressed, "failed": c.Failed, "canceled": c.Canceled, "unsubscribed": c.Unsubscribed,
	} {
		out[name] = int(n)
	}
	return out
}

func addresses(all []app.Address) (out []string) {
	for _, a := range all {
		out = append(out, a.String())
	}
	return out
}

func (x *export) allDomains() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Domain
		return x.rows(func(r *db.Reader) (n int, err error) {
			if all, err = r.DomainsAfter(x.team.ID, after, batchRows); err != nil {
				return 0, err
			}
			for i := range all {
				if all[i], err = r.Domain(x.team.ID, all[i].ID); err != nil {
					return 0, err
				}
			}
			return len(all), nil
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.domain(&all[i]) })
	})
}

func (x *export) domain(d *app.Domain) error {
	named, err := db.Get(x.ctx, x.DB, func(r *db.Reader) (app.NamedSources, error) { return r.NamedSources(x.team.ID, d.ID) })
	if notFound(err) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	err = x.put(archive.Domains, &archive.Domain{ID: d.ID, Name: d.Name, Region: d.Region, ReturnPath: d.ReturnPath, OpenTracking: d.OpenTracking, ClickTracking: d.ClickTracking,
		TrackingSubdomain: d.TrackingSubdomain, Status: d.Status, Trusted: d.Trusted, Receiving: d.Receiving, Sources: named, Records: x.domains.DomainRecords(d), CreatedAt: d.CreatedAt})
	if err != nil {
		return err
	}
	for i := range d.Keys {
		k := &d.Keys[i]
		if x.opts.NoSecrets {
			continue
		}
		private, err := x.Sealer.Open(domains.DKIMPurpose, d.ID, k.Sealed)
		if err != nil {
			return err
		}
		if err := x.secret(&archive.Secret{Kind: archive.Domains, Owner: d.ID, Selector: k.Selector, State: k.State, Public: k.Public, Private: private, CreatedAt: k.CreatedAt, RetiredAt: k.RetiredAt}); err != nil {
			return err
		}
	}
	return nil
}

// secret writes a secret, unless secrets are left out.
func (x *export) secret(s *archive.Secret) error {
	if x.opts.NoSecrets {
		return nil
	}
	return x.put(archive.Secrets, s)
}

func (x *export) webhooks() error {
	return x.walk(func(after string) (string, error) {
		var all []webhook.Webhook
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.WebhooksAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.webhook(&all[i]) })
	})
}

func (x *export) webhook(w *webhook.Webhook) error {
	out := archive.Webhook{ID: w.ID, Endpoint: w.Endpoint, Status: string(w.Status), CreatedAt: w.CreatedAt}
	for _, name := range w.Events {
		out.Events = append(out.Events, string(name))
	}
	if err := x.put(archive.Webhooks, &out); err != nil || x.opts.NoSecrets {
		return err
	}
	plain, err := x.Sealer.Open(webhooks.WebhookPurpose, w.ID, w.Sealed)
	if err != nil {
		return err
	}
	var secrets []webhook.SigningSecret
	if json.Unmarshal(plain, &secrets) != nil { // the error might repeat them
		return errors.New("the secrets of webhook " + w.ID + " can't be read")
	}
	for _, s := range secrets {
		out := archive.Secret{Kind: archive.Webhooks, Owner: w.ID, Signing: s.String()}
		if s.Until != 0 {
			out.ExpiresAt = time.UnixMilli(s.Until).UTC()
		}
		if err := x.secret(&out); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) keys() error {
	if x.opts.NoSecrets {
		x.unmovable("DKIM keys, signing secrets of webhooks, hashes of API keys", "--no-secrets left them out: domains need new DNS records, receivers of webhooks new secrets, programs new API keys")
	}
	return x.walk(func(after string) (string, error) {
		var all []app.Key
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.KeysAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error { return x.key(&all[i]) })
	})
}

func (x *export) key(k *app.Key) error {
	out := archive.Key{ID: k.ID, Name: k.Name, Permission: k.Permission, Role: k.Role, DomainID: k.DomainID, ExpiresAt: k.ExpiresAt, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt}
	for _, r := range k.AllowedIPs {
		out.AllowedIPs = append(out.AllowedIPs, r.String())
	}
	if err := x.put(archive.Keys, &out); err != nil {
		return err
	}
	return x.secret(&archive.Secret{Kind: archive.Keys, Owner: k.ID, Public: k.Public, Hash: k.Hash})
}
