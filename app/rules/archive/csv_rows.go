package archive

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
)

// headings returns the first line of the sheet for an item's kind.
func (s *Sheets) headings(item any) []string {
	text := ""
	switch item.(type) {
	case *Property:
		text = "id,key,type,fallback_value,created_at"
	case *Segment:
		text = "id,name,filter,created_at"
	case *Topic:
		text = "id,name,description,default_subscription,visibility,created_at,updated_at,archive,archive_since"
	case *Suppression:
		text = "id,email,origin,source_id,created_at"
	case *Choice:
		text = "email,topic_id,topic,subscription,chosen_at"
	case *Contact:
		return slices.Concat(strings.Split(contactHeadings, ","), s.properties, []string{"other_properties"})
	case *Image:
		text = "id,file,alt,width,height,size,used_at,created_at"
	case *Block:
		text = "id,name,html,created_at,updated_at"
	case *Template:
		text = "id,name,alias,from,reply_to,subject,html,text,variables,published_at,created_at,updated_at,syntax,variants"
	case *Form:
		text = "id,name,version,confirm,from,reply_to,topics,segments,fields,confirmation_template,welcome_template,language,redirect_url,allowed_origins,reject_disposable,max_confirmations_per_day,requested,confirmed,refused,stopped,created_at,updated_at"
	case *OptIn:
		text = "id,email,status,form,form_name,form_version,topics,segments,first_name,last_name,properties,language,text,ip,user_agent,requested_at,decided_at"
	case *Record:
		text = "id,contact_id,email,opt_in_id,form_id,form,form_version,topics,language,text,requested_at,ip,user_agent,confirm_text,confirmed_at,confirmed_ip,confirmed_user_agent,resubscribed,created_at"
	case *Broadcast:
		text = "id,name,status,segment_id,topic_id,from,reply_to,subject,preview_text,html,text,counts,created_at,scheduled_at,queued_at,sent_at,canceled_at,syntax,variants,archive"
	case *Issue:
		text = "id,topic_id,topic,broadcast_id,subject,preview_text,language,html,sent_at"
	case *Feed:
		text = "id,url,topic_id,topic,template_id,from,schedule,zone,mode,skip_empty,state,held,since,last_broadcast_id,created_at,updated_at"
	case *Domain:
		text = "id,domain,region,domain_status,record,type,name,value,priority,ttl,status"
	case *Webhook:
		text = "id,endpoint,events,status,created_at"
	case *Destination:
		text = "id,address,status,asked_at,agreed_at,stopped_at,created_at"
	case *Route:
		text = "id,match,actions,created_at"
	case *Email:
		text = "id,message_id,from,to,cc,bcc,reply_to,subject,tags,topic_id,source,created_at,scheduled_at,last_event,attachments"
	case *Event:
		text = "email_id,id,type,recipient,created_at,message,detail"
	}
	return strings.Split(text, ",")
}

// contactHeadings come before those of the properties.
const contactHeadings = "id,email,first_name,last_name,unsubscribed,segments,former_addresses,created_at,updated_at"

// otherHeadings begins the heading of a property whose key is one of our headings.
const otherHeadings = "properties."

func headingOf(key string) string {
	if slices.Contains(strings.Split(contactHeadings, ","), key) {
		return otherHeadings + key
	}
	return key
}

// rows returns the lines of an item; none: its kind has no sheet.
func (s *Sheets) rows(item any) [][]any {
	switch v := item.(type) {
	case *Property:
		s.properties = append(s.properties, headingOf(v.Key))
		return [][]any{{v.ID, v.Key, string(v.Type), v.Fallback, v.CreatedAt}}
	case *Segment:
		s.names[v.ID] = v.Name
		return [][]any{{v.ID, v.Name, v.Filter, v.CreatedAt}}
	case *Topic:
		s.names[v.ID] = v.Name
		return [][]any{{v.ID, v.Name, v.Description, string(v.Default), string(v.Visibility), v.CreatedAt, v.UpdatedAt, string(v.Archive), v.ArchiveSince}}
	case *Suppression:
		return [][]any{{v.ID, v.Email, string(v.Origin), v.SourceID, v.CreatedAt}}
	case *Choice:
		return [][]any{{v.Email, v.TopicID, s.names[v.TopicID], string(v.Subscription), v.ChosenAt}}
	case *Contact:
		return [][]any{s.contact(v)}
	case *Image:
		return [][]any{{v.ID, v.File, v.Alt, v.Width, v.Height, v.Size, v.UsedAt, v.CreatedAt}}
	case *Block:
		return [][]any{{v.ID, v.Name, v.HTML, v.CreatedAt, v.UpdatedAt}}
	case *Template:
		return [][]any{{v.ID, v.Name, v.Alias, v.From, v.ReplyTo, v.Subject, v.HTML, v.Text, v.Variables,
			v.PublishedAt, v.CreatedAt, v.UpdatedAt, v.Syntax, v.Variants}}
	case *Form:
		return [][]any{{v.ID, v.Name, v.Version, string(v.Confirm), v.From, v.ReplyTo, v.Topics, s.named(v.Segments), v.Fields, v.ConfirmationTemplate, v.WelcomeTemplate, v.Language,
			v.RedirectURL, v.AllowedOrigins, v.RejectDisposable, v.MaxPerDay, v.Requested, v.Confirmed, v.Refused, v.Stopped, v.CreatedAt, v.UpdatedAt}}
	case *OptIn:
		return [][]any{{v.ID, v.Email, string(v.Status), v.Form, v.FormName, v.FormVersion, s.named(v.Topics), s.named(v.Segments), v.FirstName, v.LastName, v.Properties,
			v.Language, v.Text, v.RequestedBy.IP, v.RequestedBy.UserAgent, v.RequestedAt, v.DecidedAt}}
	case *Record:
		topics := make([]string, len(v.Topics))
		for i, t := range v.Topics {
			topics[i] = t.Name
		}
		return [][]any{{v.ID, v.ContactID, v.Email, v.OptInID, v.FormID, v.Form, v.FormVersion, topics, v.Language, v.Text, v.RequestedAt, v.RequestedBy.IP, v.RequestedBy.UserAgent,
			v.ConfirmText, v.ConfirmedAt, v.ConfirmedBy.IP, v.ConfirmedBy.UserAgent, v.Resubscribed, v.CreatedAt}}
	case *Broadcast:
		return [][]any{{v.ID, v.Name, string(v.Status), v.SegmentID, v.TopicID, v.From, v.ReplyTo, v.Subject, v.Preview, v.HTML, v.Text, v.Counts,
			v.CreatedAt, v.ScheduledAt, v.QueuedAt, v.SentAt, v.CanceledAt, v.Syntax, v.Variants, v.Archive}}
	case *Issue:
		return [][]any{{v.ID, v.TopicID, s.names[v.TopicID], v.BroadcastID, v.Subject, v.Preview, v.Language, v.HTML, v.SentAt}}
	case *Feed:
		return [][]any{{v.ID, v.URL, v.TopicID, s.names[v.TopicID], v.TemplateID, v.From, v.Schedule, v.Zone, v.Mode, v.SkipEmpty, string(v.State), v.Held, v.Since, v.LastBroadcastID,
			v.CreatedAt, v.UpdatedAt}}
	case *Domain:
		return domainRows(v)
	case *Webhook:
		return [][]any{{v.ID, v.Endpoint, v.Events, v.Status, v.CreatedAt}}
	case *Destination:
		return [][]any{{v.ID, v.Address, string(v.Status), v.AskedAt, v.AgreedAt, v.StoppedAt, v.CreatedAt}}
	case *Route:
		return [][]any{{v.ID, v.Match, v.Actions, v.CreatedAt}}
	case *Email:
		return [][]any{emailRow(v)}
	case *Event:
		return [][]any{{v.EmailID, v.ID, string(v.Type), v.Recipient, v.CreatedAt, v.Detail.Message, &v.Detail}}
	}
	return nil
}

// named returns the names of segments or topics; an id without a name stays.
func (s *Sheets) named(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = cmp.Or(s.names[id], id)
	}
	return out
}

// contact returns a line with a column for each declared property; others are in the last column.
func (s *Sheets) contact(c *Contact) []any {
	row := []any{c.ID, c.Email, c.FirstName, c.LastName, c.Unsubscribed, s.named(c.Segments), c.Former, c.CreatedAt, c.UpdatedAt}
	shown := 0
	for _, heading := range s.properties {
		v, has := c.Properties[strings.TrimPrefix(heading, otherHeadings)]
		if has {
			shown++
		}
		row = append(row, v)
	}
	others := map[string]any{}
	if shown < len(c.Properties) {
		for key, v := range c.Properties {
			if !slices.Contains(s.properties, key) && !slices.Contains(s.properties, otherHeadings+key) {
				others[key] = v
			}
		}
	}
	return append(row, others)
}

// domainRows returns a line for each DNS record, or one for a domain without any.
func domainRows(d *Domain) (rows [][]any) {
	records := d.Records
	if len(records) == 0 {
		records = make([]app.DNSRecord, 1)
	}
	for i := range records {
		r := &records[i]
		priority := ""
		if r.Priority > 0 {
			priority = strconv.Itoa(r.Priority)
		}
		rows = append(rows, []any{d.ID, d.Name, d.Region, string(d.Status), r.Record, r.Type, r.Name, r.Value, priority, r.TTL, string(r.Status)})
	}
	return rows
}

func emailRow(e *Email) []any {
	files := make([]string, len(e.Attachments))
	for i := range e.Attachments {
		files[i] = e.Attachments[i].Filename
	}
	return []any{e.ID, e.MessageID, e.From, e.To, e.Cc, e.Bcc, e.ReplyTo, e.Subject, e.Tags, e.TopicID, e.Source,
		e.CreatedAt, e.ScheduledAt, string(e.LastEvent), files}
}
