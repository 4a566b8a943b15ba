package account

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// brandAnswer is a team's brand.
type brandAnswer struct {
	Object     string     `json:"object" enum:"brand"`
	Name       string     `json:"name" doc:"The name of the team"`
	LogoURL    *string    `json:"logo_url" doc:"The address of the logo; null: none"`
	LogoWidth  *int       `json:"logo_width" doc:"Pixels; null: no logo was uploaded"`
	LogoHeight *int       `json:"logo_height" doc:"Pixels; null: no logo was uploaded"`
	Color      *string    `json:"color" doc:"Of buttons and links, as #rrggbb; null: ink"`
	Font       brand.Font `json:"font" enum:"system,arial,verdana,georgia,times,courier"`
	FontStack  string     `json:"font_stack" doc:"The CSS value of font"`
	Footer     *string    `json:"footer" doc:"Plain text with the postal address, at the end of visual emails; null: none"`
	Warning    *string    `json:"warning" doc:"What too little contrast of the color means; null: its contrast is enough"`
}

type updateBrandRequest struct {
	Color  rest.Change[string] `json:"color,omitempty" doc:"#rrggbb; null: ink" example:"#1f6feb"`
	Font   rest.Change[string] `json:"font,omitempty" doc:"system, arial, verdana, georgia, times or courier; null: system"`
	Footer rest.Change[string] `json:"footer,omitempty" doc:"Plain text of at most 500 characters and 10 lines; null: none"`
}

type logoRequest struct {
	Content []byte `json:"content" doc:"A PNG, a JPEG or a WebP that is not animated, of at most 512 KB and 2048 pixels a side, in base64"`
}

type brandOutput struct{ Body brandAnswer }

// BrandRoutes are the routes of a team's brand. BaseURL is the server's URL.
type BrandRoutes struct {
	Service *teams.Brands
	BaseURL string
}

// Add adds the routes to a handler.
func (r BrandRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-brand", Method: http.MethodGet, Path: "/team/brand",
		Summary: "Get the brand of the team: logo, color, font and footer", Tags: teamTags,
	}, r.get)
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-brand", Method: http.MethodPatch, Path: "/team/brand",
		Summary: "Change color, font and footer of the team's brand", Tags: teamTags,
	}, r.update)
	rest.RegisterBody(h, rest.Route{Admin: true, ReusesBuffer: true}, openapi.Operation{
		OperationID: "set-logo", Method: http.MethodPost, Path: "/team/logo",
		Summary: "Upload the logo of the team", Tags: teamTags,
	}, r.setLogo)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "remove-logo", Method: http.MethodDelete, Path: "/team/logo",
		Summary: "Remove the logo of the team", Tags: teamTags,
	}, r.removeLogo)
}

func (r BrandRoutes) get(ctx context.Context, key *app.Key, _ *struct{}) (*brandOutput, error) {
	b, err := r.Service.Brand(ctx, key.TeamID)
	return r.shown(&b, err)
}

func (r BrandRoutes) update(ctx context.Context, key *app.Key, _ *struct{}, in *updateBrandRequest) (*brandOutput, error) {
	b, err := r.Service.UpdateBrand(ctx, key.TeamID, teams.BrandChange{
		Color: app.Change[string](in.Color), Font: app.Change[string](in.Font), Footer: app.Change[string](in.Footer),
	})
	return r.shown(&b, err)
}

func (r BrandRoutes) setLogo(ctx context.Context, key *app.Key, _ *struct{}, in *logoRequest) (*brandOutput, error) {
	b, err := r.Service.SetLogo(ctx, key.TeamID, in.Content)
	return r.shown(&b, err)
}

func (r BrandRoutes) removeLogo(ctx context.Context, key *app.Key, _ *struct{}) (*brandOutput, error) {
	b, err := r.Service.RemoveLogo(ctx, key.TeamID)
	return r.shown(&b, err)
}

func (r BrandRoutes) shown(b *brand.Brand, err error) (*brandOutput, error) {
	if err != nil {
		return nil, err
	}
	out := brandAnswer{
		Object: "brand", Name: b.Team, LogoURL: base.TextOrNull(b.Address(r.BaseURL)), Color: base.TextOrNull(b.Color),
		Font: b.Font, FontStack: b.Font.Stack(), Footer: base.TextOrNull(b.Footer), Warning: base.TextOrNull(brand.Warning(b.Color)),
	}
	if b.Logo.ID != "" {
		out.LogoWidth, out.LogoHeight = &b.Logo.Width, &b.Logo.Height
	}
	return &brandOutput{out}, nil
}
