package resend

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/net/remote"
	"mailer/app/rules/archive"
)

type domain struct {
	Name              string           `json:"name"`
	Status            app.DomainStatus `json:"status"`
	Region            string           `json:"region"`
	OpenTracking      bool             `json:"open_tracking"`
	ClickTracking     bool             `json:"click_tracking"`
	TrackingSubdomain string           `json:"tracking_subdomain"`
	CreatedAt         stamp            `json:"created_at"`
	Capabilities      struct {
		Receiving string `json:"receiving"`
	} `json:"capabilities"`
	Records []struct {
		Record   string           `json:"record"`
		Name     string           `json:"name"`
		Type     string           `json:"type"`
		TTL      string           `json:"ttl"`
		Status   app.DomainStatus `json:"status"`
		Value    string           `json:"value"`
		Priority int              `json:"priority"`
	} `json:"records"`
}

func (r *reader) domains(ctx context.Context) error {
	return r.walk(ctx, archive.Domains, "/domains", nil, func(ctx context.Context, id string, item jsontext.Value) error {
		var d domain
		if err := decode(item, &d); err != nil { // only the list has the creation time
			return err
		}
		if there, err := r.one(ctx, "/domains", id, &d); !there {
			return err
		}
		if d.Capabilities.Receiving == "enabled" {
			if err := r.unmovable(fmt.Sprintf("domain %q: mail that it receives", d.Name), "enable receiving of the domain here when its mail is to arrive here, and then change its MX"); err != nil {
				return err
			}
		}
		return r.w.Put(archive.Domains, d.archived(id))
	})
}

// archived returns the domain with its records at Resend. The records to publish here are made by
// the import.
func (d *domain) archived(id string) *archive.Domain {
	out := &archive.Domain{ID: id, Name: d.Name, Region: d.Region, OpenTracking: d.OpenTracking, ClickTracking: d.ClickTracking,
		TrackingSubdomain: d.TrackingSubdomain, Status: d.Status, CreatedAt: d.CreatedAt.Time}
	for _, rec := range d.Records {
		out.Records = append(out.Records, app.DNSRecord{Record: rec.Record, Name: rec.Name, Type: rec.Type, TTL: rec.TTL, Status: rec.Status, Value: rec.Value, Priority: rec.Priority})
		if rec.Record == "SPF" && out.ReturnPath == "" { // name of the return path, which begins with its label
			out.ReturnPath, _, _ = strings.Cut(rec.Name, ".")
		}
	}
	return out
}

func (r *reader) webhooks(ctx context.Context) error {
	return r.walk(ctx, archive.Webhooks, "/webhooks", nil, func(ctx context.Context, id string, _ jsontext.Value) error {
		var h struct {
			Endpoint  string   `json:"endpoint"`
			Events    []string `json:"events"`
			Status    string   `json:"status"`
			Secret    string   `json:"signing_secret"`
			CreatedAt stamp    `json:"created_at"`
		}
		if there, err := r.one(ctx, "/webhooks", id, &h); !there {
			return err
		}
		if len(h.Events) == 0 {
			return r.unmovable(fmt.Sprintf("webhook %s", h.Endpoint), "Resend names no events that it is told of: make it here with those that it needs")
		}
		if err := r.w.Put(archive.Webhooks, &archive.Webhook{ID: id, Endpoint: h.Endpoint, Events: h.Events, Status: h.Status, CreatedAt: h.CreatedAt.Time}); err != nil {
			return err
		}
		if h.Secret == "" { // the code that applies the archive reports it
			return nil
		}
		return r.w.Put(archive.Secrets, &archive.Secret{Kind: archive.Webhooks, Owner: id, Signing: h.Secret})
	})
}

// keys reports the API keys as unmovable: only their holders know the secrets.
func (r *reader) keys(ctx context.Context) error {
	return r.walk(ctx, archive.Unmovables, "/api-keys", nil, func(_ context.Context, id string, item jsontext.Value) error {
		var k struct {
			Name       string `json:"name"`
			LastUsedAt stamp  `json:"last_used_at"`
		}
		if err := decode(item, &k); err != nil {
			return err
		}
		used := "it was not used of late"
		if !k.LastUsedAt.IsZero() {
			used = "it was last used on " + k.LastUsedAt.Format("2006-01-02")
		}
		return r.unmovable(fmt.Sprintf("API key %q (%s)", k.Name, id), "keys can't move; "+used+": make one here with `mailer keys create` and put it where this re_… stands")
	})
}

// others reports objects that Mailer does not have.
func (r *reader) others(ctx context.Context) error {
	err := r.named(ctx, "automation", "/automations", "there are no automations here")
	if err == nil {
		err = r.named(ctx, "event", "/events", "there are no events of your own here, since there are no automations")
	}
	if err == nil {
		err = r.countOthers(ctx, "/emails", "emails that were sent", "they and what became of them stay at Resend: its dashboard shows them")
	}
	if err == nil {
		err = r.countOthers(ctx, "/emails/receiving", "emails that were received", "they stay at Resend")
	}
	return err
}

// named reports each item of an optional list. The position is stored after the last one.
func (r *reader) named(ctx context.Context, what, path, why string) error {
	saved := r.at.place
	defer func() { r.at.place = saved }()
	r.at.place = place{}
	for more := true; more; {
		var err error
		more, err = r.step(ctx, path, nil, func(_ context.Context, id string, item jsontext.Value) error {
			var n struct {
				Name string `json:"name"`
			}
			if err := decode(item, &n); err != nil {
				return err
			}
			return r.unmovable(fmt.Sprintf("%s %q (%s)", what, n.Name, id), why)
		})
		if isWithheld(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countOthers reports an optional list as a whole if it has items.
func (r *reader) countOthers(ctx context.Context, path, what, why string) error {
	var page list
	err := r.c.Get(ctx, path, url.Values{"limit": {"1"}}, &page)
	if isWithheld(err) || err == nil && len(page.Data) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return r.unmovable(what, why)
}

// isWithheld reports whether an optional list is not available to this account.
func isWithheld(err error) bool {
	return isAbsent(err) || remote.StatusOf(err) == http.StatusForbidden
}
