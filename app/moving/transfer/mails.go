package transfer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/archive"
	"mailer/db"
)

// templates creates missing templates. One with the same id, alias or name is the same, and is not
// changed.
func (m *importer) templates(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.Template, error) {
		return eachItem(func(p app.Page) ([]app.Template, bool, error) { return r.ListTemplates(m.team.ID, p) }, func(t *app.Template) string { return t.ID })
	})
	if err != nil {
		return fmt.Errorf("read templates: %w", err)
	}
	names, aliases := map[string]string{}, map[string]string{}
	for i := range all {
		names[all[i].Name] = all[i].ID
		if all[i].Alias != "" {
			aliases[all[i].Alias] = all[i].ID
		}
	}
	done := 0
	var in archive.Template
	return m.r.Each(archive.Templates, &in, func(int) error {
		done++
		id, there := aliases[in.Alias]
		if in.Alias == "" {
			id, there = names[in.Name]
		}
		for i := range all { // two of a Mailer's may have the same name
			if m.r.Team.FromMailer() && in.Alias == "" {
				if there = all[i].ID == in.ID; there {
					id = in.ID
					break
				}
			}
		}
		if there {
			m.report.Templates = append(m.report.Templates, Thing{Name: in.Name})
		} else if id, err = m.template(ctx, &in); err != nil || id == "" {
			return err
		}
		m.templateIDs[in.ID] = id
		if err := m.moved(archive.Templates, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Templates, done)
	})
}

// template creates a template; an empty id: it can't be created.
func (m *importer) template(ctx context.Context, in *archive.Template) (id string, err error) {
	what := fmt.Sprintf("template %q", in.Name)
	for _, c := range []*archive.Content{&in.Content, in.Published} {
		if c == nil {
			continue
		}
		if err := m.placeImages(ctx, what, &c.HTML, &c.Design, c.Variants); err != nil {
			return "", err
		}
	}
	edited, err := m.version(in, &in.Content)
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	published := edited
	if in.Published != nil && !reflect.DeepEqual(*in.Published, in.Content) {
		if published, err = m.version(in, in.Published); err != nil {
			m.unmovable(what, "what was published of it can't be taken, so that it is a draft: "+err.Error())
			in.Published = nil
		}
	}
	id = m.id(in.ID)
	_, err = m.add(ctx, &m.report.Templates, what, Thing{Name: in.Name, Draft: in.Published == nil}, func(tx *db.Tx) (err error) {
		if err := base.CapTemplates.Check(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		if id, err = freeID(tx.TemplateIDTaken, id); err != nil {
			return err
		}
		return insertTemplate(tx, id, m.team.ID, in, edited, published)
	})
	return id, err
}

// version validates one version of a template.
func (m *importer) version(in *archive.Template, c *archive.Content) (app.Template, error) {
	content := app.TemplateContent{From: c.From, ReplyTo: c.ReplyTo, Subject: c.Subject, HTML: c.HTML, Text: c.Text, Design: string(c.Design)}
	syntax, err := app.ParseSyntax(c.Syntax)
	if err != nil {
		return app.Template{}, err
	}
	content.Syntax = syntax
	for i := range c.Variables {
		v := &c.Variables[i]
		out := app.TemplateVariable{Key: v.Key, Type: v.Type, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt}
		if len(v.Fallback) > 0 && v.Fallback.Kind() != 'n' {
			fallback, err := app.JSONValue(v.Fallback)
			if err != nil {
				return app.Template{}, app.Invalid("variables."+app.Excerpt(v.Key), "%s", err)
			}
			out.Fallback = &fallback
		}
		if id, ok := app.ParseID(v.ID); ok && m.r.Team.FromMailer() {
			out.ID = id
		}
		content.Variables = append(content.Variables, out)
	}
	input := app.TemplateInput{Name: in.Name, Alias: in.Alias, TemplateContent: content, Languages: variantsOf(&c.Document)}
	t, err := input.Validate(clock.Now())
	if err != nil {
		return t, err
	}
	blocks, err := m.blocksOf(t.Syntax, t.Parts())
	if err == nil {
		err = base.CheckTemplate(&t.TemplateContent, blocks)
	}
	for i := range t.Variables { // Validate has set new ids
		if v := &content.Variables[i]; v.ID != "" {
			t.Variables[i].ID, t.Variables[i].CreatedAt, t.Variables[i].UpdatedAt = v.ID, v.CreatedAt, v.UpdatedAt
		}
	}
	return t, err
}

// variantsOf returns the archived variants of a document for its input.
func variantsOf(d *archive.Document) app.VariantChanges {
	all := app.Variants{}
	for lang, v := range d.Variants {
		all[lang] = app.Variant{Subject: v.Subject, Preview: v.Preview, HTML: v.HTML, Text: v.Text, Design: string(v.Design)}
	}
	return app.ReplaceVariants(all).Value
}

// insertTemplate writes a template with its edited version and, if different, the published one.
func insertTemplate(tx *db.Tx, id, teamID string, in *archive.Template, edited, published app.Template) error {
	t := edited
	t.ID, t.TeamID, t.CurrentID = id, teamID, app.NewID()
	t.CreatedAt = orDefault(in.CreatedAt, tx.Now)
	t.UpdatedAt = orDefault(in.UpdatedAt, t.CreatedAt)
	if in.Published == nil {
		return tx.InsertTemplate(&t)
	}
	t.PublishedID, t.PublishedAt = t.CurrentID, orDefault(in.PublishedAt, tx.Now)
	if reflect.DeepEqual(edited, published) {
		return tx.InsertTemplate(&t)
	}
	sent := t
	sent.TemplateContent = published.TemplateContent
	if err := tx.InsertTemplate(&sent); err != nil {
		return err
	}
	t.CurrentID = app.NewID()
	if err := tx.InsertTemplateVersion(&t); err != nil {
		return err
	}
	return tx.UpdateTemplate(&t)
}

// broadcasts creates missing broadcasts as drafts, so that nothing is sent. Sent and canceled
// broadcasts of another Mailer keep their state and counts. One with the same id, or the same name
// and time, is the same.
func (m *importer) broadcasts(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.Broadcast, error) {
		return eachItem(func(p app.Page) ([]app.Broadcast, bool, error) { return r.ListBroadcasts(m.team.ID, p) }, func(b *app.Broadcast) string { return b.ID })
	})
	if err != nil {
		return fmt.Errorf("read broadcasts: %w", err)
	}
	there := map[string]string{}
	for i := range all {
		there[all[i].ID], there[broadcastMark(all[i].Name, all[i].CreatedAt)] = all[i].ID, all[i].ID
	}
	done := 0
	var in archive.Broadcast
	return m.r.Each(archive.Broadcasts, &in, func(int) error {
		done++
		id := there[broadcastMark(in.Name, in.CreatedAt)]
		if m.r.Team.FromMailer() {
			id = there[in.ID]
		}
		if id != "" {
			m.report.Broadcasts = append(m.report.Broadcasts, Thing{Name: in.Name})
		} else if id, err = m.broadcast(ctx, &in); err != nil || id == "" {
			return err
		}
		m.broadcastIDs[in.ID] = id
		if err := m.moved(archive.Broadcasts, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Broadcasts, done)
	})
}

// broadcastMark identifies broadcasts of other services, whose ids are not kept.
func broadcastMark(name string, at time.Time) string {
	return fmt.Sprintf("%d %s", at.UnixMilli(), name)
}

// broadcast creates a broadcast; an empty id: it can't be created.
func (m *importer) broadcast(ctx context.Context, in *archive.Broadcast) (id string, err error) {
	what := fmt.Sprintf("broadcast %q", in.Name)
	over := m.r.Team.FromMailer() && (in.Status == app.SentBroadcast || in.Status == app.CanceledBroadcast)
	if !over {
		if err := m.placeImages(ctx, what, &in.HTML, &in.Design, in.Variants); err != nil {
			return "", err
		}
	}
	input := app.BroadcastInput{Name: in.Name, SegmentID: m.segments[in.SegmentID], TopicID: m.topics[in.TopicID], From: in.From, ReplyTo: in.ReplyTo,
		Subject: in.Subject, Preview: in.Preview, HTML: in.HTML, Text: in.Text, Design: string(in.Design),
		Syntax: in.Syntax, Variants: variantsOf(&in.Document), Archive: in.Archive}
	if over && in.SegmentID != "" && input.SegmentID == "" && in.Archive == nil { // it was not sent to the whole topic
		input.Archive = new(bool)
	}
	files, ok := readAttachments(in.Attachments)
	why := "an attachment has no id"
	if ok {
		if why, err = m.readFiles(files); err != nil {
			return "", err
		}
	}
	if why != "" {
		m.unmovable(what, why)
		return "", nil
	}
	for _, a := range files {
		a.ID = "" // checked like a new one
		if !m.Apply {
			a.Content = []byte{}
		}
		input.Attachments = append(input.Attachments, a)
	}
	b, err := m.draftOf(input)
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	for i := range b.Attachments {
		b.Attachments[i].ID = files[i].ID
	}
	if !over && in.SegmentID != "" && input.SegmentID == "" {
		m.unmovable(what, "its segment can't be taken, and without one it would go to all contacts")
		return "", nil
	}
	if !over && in.TopicID != "" && input.TopicID == "" {
		m.unmovable(what, "its topic can't be taken, and without one it would go to people who opted out of it")
		return "", nil
	}
	if !over && (in.Status == app.ScheduledBroadcast || in.Status == app.QueuedBroadcast) {
		m.unmovable(what, "it was "+string(in.Status)+" there; here it is a draft, and is not sent automatically")
	}
	id = m.id(in.ID)
	_, err = m.add(ctx, &m.report.Broadcasts, what, Thing{Name: b.Name, Draft: !over}, func(tx *db.Tx) (err error) {
		if id, err = freeID(tx.BroadcastIDTaken, id); err != nil {
			return err
		}
		b.ID, b.TeamID, b.CreatedAt = id, m.team.ID, orDefault(in.CreatedAt, tx.Now)
		if b.Attachments, err = m.withFreeIDs(tx, id, b.Attachments); err != nil {
			return err
		}
		if err := tx.InsertBroadcast(&b); err != nil || !over {
			return err
		}
		b.Status, b.ScheduledAt, b.QueuedAt, b.SentAt, b.CanceledAt = in.Status, in.ScheduledAt, in.QueuedAt, in.SentAt, in.CanceledAt
		setCounts(&b, in.Counts)
		return errors.Join(tx.EndBroadcast(&b), tx.EndBroadcastLanguages(b.ID, languageCounts(in.Languages)))
	})
	return id, err
}

// draftOf validates a broadcast. One without a sender becomes a draft that can be sent once it has
// one: the former sender may not be valid here. Errors: CodeValidation.
func (m *importer) draftOf(in app.BroadcastInput) (app.Broadcast, error) {
	none := in.From == ""
	if none {
		in.From = "nobody@example.com"
	}
	in.Rules.Compat = app.CompatResend // a file may be embedded
	b, err := in.Validate(clock.Now())
	var blocks app.Blocks
	if err == nil {
		blocks, err = m.blocksOf(b.Syntax, b.Parts())
	}
	if err == nil {
		err = base.CheckBroadcast(&b, blocks)
	}
	if none {
		b.From = app.Address{}
	}
	return b, err
}

// setCounts is the reverse of countsOf.
func setCounts(b *app.Broadcast, counts map[string]int) {
	b.Audience, b.Stored = countOf(counts, "recipients"), countOf(counts, "remaining") // of a canceled one: recipients that were never started
	b.Counts = eventsOf(counts)
}

// languageCounts returns the archived counts of a broadcast by language, in sorted order, without those
// of texts that are no languages.
func languageCounts(all map[string]map[string]int) (out []app.LanguageCounts) {
	for _, lang := range app.SortedKeys(all) {
		if tag, ok := app.CanonicalLanguage(lang); lang == "" || ok && tag == lang {
			out = append(out, app.LanguageCounts{Language: lang, Recipients: countOf(all[lang], "recipients"), BroadcastCounts: eventsOf(all[lang])})
		}
	}
	return out[:min(len(out), app.MaxVariants+1)]
}

func countOf(counts map[string]int, name string) int64 { return int64(max(0, counts[name])) }

func eventsOf(counts map[string]int) app.BroadcastCounts {
	n := func(name string) int64 { return countOf(counts, name) }
	return app.BroadcastCounts{Sent: n("sent"), DeliveryDelayed: n("delivery_delayed"), Delivered: n("delivered"), Opened: n("opened"), Clicked: n("clicked"),
		Bounced: n("bounced"), Complained: n("complained"), Suppressed: n("suppressed"), Failed: n("failed"), Canceled: n("canceled"), Unsubscribed: n("unsubscribed")}
}
