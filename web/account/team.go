package account

import (
	"context"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/retention"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// team is the team of the key.
type team struct {
	Object               string  `json:"object" enum:"team"`
	ID                   string  `json:"id" format:"uuid"`
	Name                 string  `json:"name"`
	LogoURL              *string `json:"logo_url" doc:"On hosted pages and in the dashboard; null: none"`
	SecondFactorRequired bool    `json:"second_factor_required" doc:"People reach the team only with a second factor"`
	KeepContent          *string `json:"keep_content" doc:"How long bodies, attachments and captured messages of finished emails are kept, as mailer teams set-retention takes it; null: as long as the server keeps them"`
	KeepEmails           *string `json:"keep_emails" doc:"The same of finished emails as a whole"`
	CreatedAt            string  `json:"created_at" format:"date-time"`
}

type updateTeamRequest struct {
	Name                 *string             `json:"name,omitempty" minLength:"1" maxLength:"100"`
	LogoURL              rest.Change[string] `json:"logo_url,omitempty" maxLength:"2048" doc:"An https address; null clears"`
	SecondFactorRequired *bool               `json:"second_factor_required,omitempty" doc:"Who turns it on must have a second factor"`
	KeepContent          rest.Change[string] `json:"keep_content,omitempty" doc:"As mailer teams set-retention takes it; null: as the server"`
	KeepEmails           rest.Change[string] `json:"keep_emails,omitempty" doc:"As keep_content"`
}

type teamOutput struct{ Body team }

// TeamRoutes are the routes of the team itself.
type TeamRoutes struct {
	Service   *teams.Service
	Retention *retention.Service
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
	t, err := r.Service.UpdateTeamSettings(ctx, key, teams.SettingsChange{
		Name: b.Name, LogoURL: app.Change[string](b.LogoURL), SecondFactor: b.SecondFactorRequired,
	})
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
	return &teamOutput{team{
		Object: "team", ID: t.ID, Name: t.Name, LogoURL: base.TextOrNull(t.LogoURL), SecondFactorRequired: t.SecondFactor,
		KeepContent: keptOrNull(own.Content), KeepEmails: keptOrNull(own.Emails), CreatedAt: app.FormatTime(t.CreatedAt),
	}}, nil
}

func keptOrNull(d *time.Duration) *string {
	if d == nil {
		return nil
	}
	text := retention.FormatRetention(*d)
	return &text
}
