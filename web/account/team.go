package account

import (
	"context"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/retention"
	"mailer/app/rules/brand"
	"mailer/app/tenants/pagehosts"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// team is the team of the key.
type team struct {
	Object               string      `json:"object" enum:"team"`
	ID                   string      `json:"id" format:"uuid"`
	Name                 string      `json:"name"`
	LogoURL              *string     `json:"logo_url" doc:"On hosted pages and in the dashboard; null: none"`
	Page                 *hostedPage `json:"page" doc:"What the team changes of the pages to unsubscribe and to choose topics; null: nothing"`
	SecondFactorRequired bool        `json:"second_factor_required" doc:"People reach the team only with a second factor"`
	KeepContent          *string     `json:"keep_content" doc:"How long bodies, attachments and captured messages of finished emails are kept, as mailer teams set-retention takes it; null: as long as the server keeps them"`
	KeepEmails           *string     `json:"keep_emails" doc:"The same of finished emails as a whole"`
	PagesHost            *pagesHost  `json:"pages_host" doc:"The team's own host for forms, archives and images; null: none"`
	TimeZone             *string     `json:"time_zone" doc:"IANA name of the time zone of contacts without the property time_zone, and of schedules of automations; null: UTC" example:"Europe/Berlin"`
	ReplyAddresses       bool        `json:"reply_addresses" doc:"Mail without reply_to, from a domain that receives, gets a Reply-To that names the email, so that its answers are found"`
	CreatedAt            string      `json:"created_at" format:"date-time"`
}

// pagesHost is the own host of a team with its DNS record.
type pagesHost struct {
	_          struct{} `nullable:"true"`
	Name       string   `json:"name" example:"news.example.com"`
	RecordType string   `json:"record_type" enum:"CNAME" doc:"Of the DNS record to publish at name"`
	Value      string   `json:"value" doc:"Of the DNS record"`
	PointsHere bool     `json:"points_here" doc:"The last check found the record. Links to pages use the host from then on, and its certificate is obtained"`
	Detail     string   `json:"detail,omitempty" doc:"What the last check found instead, and what to change"`
	CheckedAt  *string  `json:"checked_at" format:"date-time" doc:"null: never. Each minute for three days or until the record is found, then each hour"`
}

// hostedPage is what a team changes of its hosted pages.
type hostedPage struct {
	_               struct{}         `nullable:"true"`
	BackgroundColor string           `json:"background_color,omitempty" doc:"Around the card, as #rrggbb" example:"#f3f4f7"`
	CardColor       string           `json:"card_color,omitempty" doc:"Behind the text, as #rrggbb" example:"#ffffff"`
	TextColor       string           `json:"text_color,omitempty" doc:"As #rrggbb; its contrast with card_color must be at least 4.5:1" example:"#1b1f27"`
	Texts           []hostedPageText `json:"texts,omitempty" maxItems:"10" doc:"At most one of each language"`
	URL             string           `json:"after_unsubscribe_url,omitempty" maxLength:"2048" doc:"A link on the page after unsubscribing: an https address at a verified domain of the team, or below one" example:"https://www.example.com/goodbye"`
}

// hostedPageText is what a team adds to its hosted pages in one language.
type hostedPageText struct {
	Language     string `json:"language" enum:"en,de,fr,es,pt,it,nl,pl,ja,zh"`
	Unsubscribe  string `json:"unsubscribe,omitempty" doc:"On the page that asks whether to unsubscribe: at most 500 characters and 5 lines, as the next two"`
	Unsubscribed string `json:"unsubscribed,omitempty" doc:"On the page after unsubscribing"`
	Preferences  string `json:"preferences,omitempty" doc:"On the page to choose topics"`
	Link         string `json:"link,omitempty" doc:"The text of the link, of at most 60 characters; without it the host of after_unsubscribe_url"`
}

type updateTeamRequest struct {
	Name                 *string                 `json:"name,omitempty" minLength:"1" maxLength:"100"`
	LogoURL              rest.Change[string]     `json:"logo_url,omitempty" maxLength:"2048" doc:"An https address; null clears"`
	Page                 rest.Change[hostedPage] `json:"page,omitempty" doc:"Replaces all of the page; null: default"`
	SecondFactorRequired *bool                   `json:"second_factor_required,omitempty" doc:"Who turns it on must have a second factor"`
	KeepContent          rest.Change[string]     `json:"keep_content,omitempty" doc:"As mailer teams set-retention takes it; null: as the server"`
	KeepEmails           rest.Change[string]     `json:"keep_emails,omitempty" doc:"As keep_content"`
	PagesHost            rest.Change[string]     `json:"pages_host,omitempty" maxLength:"254" doc:"A host name below a verified domain of the team, which no other team has; null: none" example:"news.example.com"`
	TimeZone             rest.Change[string]     `json:"time_zone,omitempty" doc:"null: UTC" example:"Europe/Berlin"`
	ReplyAddresses       *bool                   `json:"reply_addresses,omitempty" doc:"For mail that is sent from now on by the API, by broadcasts and by automations"`
}

type teamOutput struct{ Body team }

// TeamRoutes are the routes of the team itself.
type TeamRoutes struct {
	Service   *teams.Service
	Retention *retention.Service
	Hosts     *pagehosts.Service
}

// Add adds the routes to a handler.
func (r TeamRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "get-team", Method: http.MethodGet, Path: "/team",
		Summary: "Get the team and its settings", Tags: teamTags,
	}, r.get)
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-team", Method: http.MethodPatch, Path: "/team",
		Summary: "Change the name or the settings of the team", Tags: teamTags,
		Errors: []int{http.StatusConflict},
	}, r.update)
}

func (r TeamRoutes) get(ctx context.Context, key *app.Key, _ *struct{}) (*teamOutput, error) {
	t, err := r.Service.TeamSettings(ctx, key.TeamID)
	if err != nil {
		return nil, err
	}
	return r.shown(ctx, &t)
}

// update changes the settings first, which may fail, and then the retention, which was checked.
func (r TeamRoutes) update(ctx context.Context, key *app.Key, _ *struct{}, b *updateTeamRequest) (*teamOutput, error) {
	var keep retention.Change
	for _, f := range []struct {
		name string
		from *rest.Change[string]
		to   **retention.Choice
	}{{"keep_content", &b.KeepContent, &keep.Content}, {"keep_emails", &b.KeepEmails, &keep.Emails}} {
		if !f.from.Set {
			continue
		}
		choice, err := retention.ParseChoice(f.from.Value)
		if err != nil {
			return nil, app.Invalid(f.name, "must be a time like 30d, 2w, 1y or 12h, 0 for no limit, or null for the server's setting")
		}
		*f.to = choice
	}
	page := app.Change[brand.Page]{Set: b.Page.Set, Value: b.Page.Value.checked()}
	t, err := r.Service.UpdateTeamSettings(ctx, key, teams.SettingsChange{
		Name: b.Name, LogoURL: app.Change[string](b.LogoURL), Page: page, SecondFactor: b.SecondFactorRequired, PagesHost: app.Change[string](b.PagesHost), TimeZone: app.Change[string](b.TimeZone), ReplyAddresses: b.ReplyAddresses,
	})
	if err == nil && b.PagesHost.Set {
		r.Hosts.Changed(key.TeamID)
	}
	if err == nil && keep != (retention.Change{}) {
		_, err = r.Retention.SetTeam(ctx, key.TeamID, keep)
	}
	if err != nil {
		return nil, err
	}
	return r.shown(ctx, &t)
}

func (r TeamRoutes) shown(ctx context.Context, t *teams.Settings) (*teamOutput, error) {
	own, _, err := r.Retention.Team(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	host, err := r.Hosts.Get(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	return &teamOutput{team{
		PagesHost: pagesHostOf(host),
		Object:    "team", ID: t.ID, Name: t.Name, LogoURL: base.TextOrNull(t.LogoURL), Page: hostedPageOf(t.Page), SecondFactorRequired: t.SecondFactor,
		KeepContent: keptOrNull(own.Content), KeepEmails: keptOrNull(own.Emails), TimeZone: base.TextOrNull(t.TimeZone), ReplyAddresses: t.ReplyAddresses, CreatedAt: app.FormatTime(t.CreatedAt),
	}}, nil
}

// pagesHostOf returns the shape of an own host; nil: none.
func pagesHostOf(h *pagehosts.Host) *pagesHost {
	if h == nil {
		return nil
	}
	return &pagesHost{Name: h.Name, RecordType: string(app.DNSCNAME), Value: h.Target, PointsHere: h.PointsHere, Detail: h.Detail, CheckedAt: app.FormatTimePtr(h.CheckedAt)}
}

// checked converts the page for its service, which checks it.
func (p *hostedPage) checked() brand.Page {
	out := brand.Page{Background: p.BackgroundColor, Card: p.CardColor, Text: p.TextColor, URL: p.URL}
	for _, t := range p.Texts {
		out.Texts = append(out.Texts, brand.PageText(t))
	}
	return out
}

// hostedPageOf returns the page of a team; nil: the default.
func hostedPageOf(stored string) *hostedPage {
	if stored == "" {
		return nil
	}
	p := (&brand.Brand{Page: stored}).HostedPage()
	out := &hostedPage{BackgroundColor: p.Background, CardColor: p.Card, TextColor: p.Text, URL: p.URL}
	for _, t := range p.Texts {
		out.Texts = append(out.Texts, hostedPageText(t))
	}
	return out
}

func keptOrNull(d *time.Duration) *string {
	if d == nil {
		return nil
	}
	text := retention.FormatRetention(*d)
	return &text
}
