package broadcasts

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// VersionItem is an earlier version of a broadcast or template in a list.
type VersionItem struct {
	ID        string       `json:"id" format:"uuid"`
	N         int          `json:"n" doc:"Its number; the newest has the highest"`
	CreatedAt string       `json:"created_at" format:"date-time" doc:"When it was changed, and kept for that"`
	ChangedBy versionActor `json:"changed_by" doc:"Who changed it"`
	Bytes     int          `json:"bytes" doc:"About how long it is"`
}

type versionActor struct {
	Type app.ActorType `json:"type" enum:"cli,key,person,server"`
	ID   string        `json:"id" doc:"Of the key or person"`
}

func newVersionItem(v *base.Version) VersionItem {
	return VersionItem{ID: v.ID, N: int(v.N), CreatedAt: app.FormatTime(v.CreatedAt), ChangedBy: versionActor{v.Actor.Type, v.Actor.Name}, Bytes: int(v.Size)}
}

type broadcastVersion struct {
	Object string `json:"object" enum:"broadcast_version"`
	VersionItem
	Name        string   `json:"name"`
	From        string   `json:"from"`
	ReplyTo     []string `json:"reply_to"`
	Subject     string   `json:"subject"`
	PreviewText *string  `json:"preview_text"`
	HTML        *string  `json:"html"`
	Text        *string  `json:"text" doc:"null: made from html; an empty string: none"`
	Design      *string  `json:"design" doc:"JSON text that the visual editor made html of; null: nothing did"`
	Syntax      string   `json:"syntax" enum:"plain,liquid"`

	Variants shapes.Variants `json:"variants"`
}

type templateVersion struct {
	Object string `json:"object" enum:"template_version"`
	VersionItem
	From    *string  `json:"from"`
	ReplyTo []string `json:"reply_to"`
	Subject *string  `json:"subject"`
	HTML    string   `json:"html"`
	Text    *string  `json:"text" doc:"null: made from html; an empty string: none"`
	Design  *string  `json:"design" doc:"JSON text that the visual editor made html of; null: nothing did"`
	Syntax  string   `json:"syntax" enum:"plain,liquid"`

	Variants shapes.Variants `json:"variants"`
}

type (
	broadcastVersionOutput struct{ Body broadcastVersion }
	templateVersionOutput  struct{ Body templateVersion }
	broadcastVersionsInput struct {
		BroadcastPath
		rest.PageParams
	}
	broadcastVersionInput struct {
		BroadcastPath
		N string `path:"n" doc:"The number of the version, or its id"`
	}
	templateVersionsInput struct {
		TemplatePath
		rest.PageParams
	}
	templateVersionInput struct {
		TemplatePath
		N string `path:"n" doc:"The number of the version, or its id"`
	}
)

func (r ReviewRoutes) addVersions(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-broadcast-versions", Method: http.MethodGet, Path: "/broadcasts/{id}/versions",
		Summary: "List the earlier versions of a broadcast, newest first", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*broadcastVersionsInput](r.Service.ListVersions, newVersionItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-broadcast-version", Method: http.MethodGet, Path: "/broadcasts/{id}/versions/{n}",
		Summary: "Get an earlier version of a broadcast", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound},
	}, r.getVersion)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "restore-broadcast-version", Method: http.MethodPost, Path: "/broadcasts/{id}/versions/{n}/restore",
		Summary: "Restore an earlier version of a draft broadcast. The current content becomes a version", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.restoreVersion)
}

func (r ReviewRoutes) getVersion(ctx context.Context, key *app.Key, in *broadcastVersionInput) (*broadcastVersionOutput, error) {
	v, was, err := r.Service.ReadVersion(ctx, key, in.ID, in.N)
	if err != nil {
		return nil, err
	}
	return &broadcastVersionOutput{broadcastVersion{
		Object: "broadcast_version", VersionItem: newVersionItem(&v), Name: was.Name, From: was.From, ReplyTo: append([]string{}, was.ReplyTo...),
		Subject: was.Subject, PreviewText: base.TextOrNull(was.Preview), HTML: base.TextOrNull(was.HTML), Text: was.Text, Design: base.TextOrNull(was.Design),
		Syntax: app.Syntax(was.Syntax).String(), Variants: shapes.NewVariants(was.Variants),
	}}, nil
}

func (r ReviewRoutes) restoreVersion(ctx context.Context, key *app.Key, in *broadcastVersionInput) (*broadcastOutput, error) {
	return newDraftOutput(r.Service.RestoreVersion(ctx, key, in.ID, in.N))
}

func (r TemplateRoutes) addVersions(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-template-versions", Method: http.MethodGet, Path: "/templates/{id}/versions",
		Summary: "List the earlier versions of a template, newest first", Tags: templateTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*templateVersionsInput](r.Service.ListTemplateVersions, newVersionItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-template-version", Method: http.MethodGet, Path: "/templates/{id}/versions/{n}",
		Summary: "Get an earlier version of a template", Tags: templateTags,
		Errors: []int{http.StatusNotFound},
	}, r.getVersion)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "restore-template-version", Method: http.MethodPost, Path: "/templates/{id}/versions/{n}/restore",
		Summary: "Restore an earlier version as the draft of a template. The published version stays", Tags: templateTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.restoreVersion)
}

func (r TemplateRoutes) getVersion(ctx context.Context, key *app.Key, in *templateVersionInput) (*templateVersionOutput, error) {
	v, was, err := r.Service.ReadTemplateVersion(ctx, key, in.ID, in.N)
	if err != nil {
		return nil, err
	}
	return &templateVersionOutput{templateVersion{
		Object: "template_version", VersionItem: newVersionItem(&v), From: base.TextOrNull(was.From), ReplyTo: append([]string{}, was.ReplyTo...),
		Subject: base.TextOrNull(was.Subject), HTML: was.HTML, Text: was.Text, Design: base.TextOrNull(was.Design),
		Syntax: was.Syntax.String(), Variants: shapes.NewVariants(was.Variants),
	}}, nil
}

func (r TemplateRoutes) restoreVersion(ctx context.Context, key *app.Key, in *templateVersionInput) (*templateOutput, error) {
	return newTemplateOutput(r.Service.RestoreTemplateVersion(ctx, key, in.ID, in.N))
}
