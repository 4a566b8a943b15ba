package operator

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/operate/retention"
	"mailer/app/operate/settings"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// SettingItem is a setting of the server, named like its flag.
type SettingItem struct {
	Name       string   `json:"name"`
	Value      string   `json:"value" doc:"In force; a list with commas, without passwords and secrets"`
	From       string   `json:"from" enum:"flag,environment,file,database,default" doc:"database: stored while the server runs; file: one that the variable names"`
	Variable   string   `json:"variable" doc:"Of the environment, which sets it too, or names its file"`
	About      string   `json:"about" doc:"What it does, in words"`
	Changeable bool     `json:"changeable" doc:"It can be changed while the server runs: no flag and no variable sets it"`
	Choices    []string `json:"choices" doc:"Of one that can be changed: the values that there are; empty: any value that the flag takes"`
}

func newSettingItem(s settings.Setting) SettingItem {
	out := SettingItem{Name: s.Name, Value: s.Value, From: s.From, Variable: s.Variable, About: s.About, Changeable: s.Changeable, Choices: s.Choices}
	if out.Choices == nil {
		out.Choices = []string{}
	}
	return out
}

type settingList struct {
	Object string        `json:"object" enum:"list"`
	Data   []SettingItem `json:"data" doc:"All that mailer serve knows, by name"`
}

// changeSettingsRequest is the body of PATCH /settings.
type changeSettingsRequest struct {
	Values map[string]*string `json:"values" doc:"New values by the name of the setting; null: the default"`
}

// diskUse is the disk usage, in the form of `mailer disk --json`.
type diskUse struct {
	Object    string      `json:"object" enum:"disk"`
	Bytes     int64       `json:"bytes" doc:"Of the database file, now"`
	WALBytes  int64       `json:"wal_bytes" doc:"Of its log, now"`
	DiskFree  int64       `json:"disk_free" doc:"In bytes, now"`
	FreeBytes int64       `json:"free_bytes" doc:"Within the file, for what comes next"`
	LookedAt  *string     `json:"looked_at" format:"date-time" doc:"When free_bytes, tables and teams were measured; the result is cached for some minutes. null: the first measurement is running"`
	Running   bool        `json:"running" doc:"A new look is under way: ask again"`
	Tables    []diskTable `json:"tables" doc:"The largest first"`
	Teams     []diskTeam  `json:"teams" doc:"The largest first"`
}

type diskTable struct {
	Table string `json:"table"`
	Bytes int64  `json:"bytes" doc:"With indexes"`
}

type diskTeam struct {
	ID             string  `json:"id" format:"uuid"`
	Team           string  `json:"team"`
	Emails         int64   `json:"emails"`
	Bytes          int64   `json:"bytes" doc:"About, by a sample"`
	Images         int64   `json:"images" doc:"Of Bytes, those of its images"`
	KeepContent    string  `json:"keep_content" doc:"How long, as the flag --keep-content takes it"`
	KeepEmails     string  `json:"keep_emails"`
	KeepBroadcasts string  `json:"keep_broadcasts"`
	Old            diskOld `json:"old" doc:"What is older than it is kept, and goes next"`
}

type diskOld struct {
	Contents int64 `json:"contents"`
	Emails   int64 `json:"emails"`
	Bytes    int64 `json:"bytes"`
}

type (
	settingListOutput struct{ Body settingList }
	diskOutput        struct{ Body diskUse }
)

// SettingsRoutes are the routes of settings and disk usage.
type SettingsRoutes struct {
	Disk     *retention.DiskReports
	Settings []health.Setting // values at the start of the server
	Changes  *settings.Service
}

// Add adds the routes to a handler.
func (r SettingsRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "list-settings", Method: http.MethodGet, Path: "/settings",
		Summary: "List the settings in force, and where each came from", Tags: serverTags,
	}, r.settings)
	rest.RegisterBody(h, rest.Route{Operator: true, Fresh: true}, openapi.Operation{
		OperationID: "update-settings", Method: http.MethodPatch, Path: "/settings",
		Summary: "Change settings while the server runs. A flag or variable wins", Tags: serverTags, Errors: []int{http.StatusConflict},
	}, r.change)
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "get-disk", Method: http.MethodGet, Path: "/disk",
		Summary: "Tell what takes how much room, by team and table", Tags: serverTags,
	}, r.disk)
}

func (r SettingsRoutes) settings(context.Context, *app.Key, *struct{}) (*settingListOutput, error) {
	return &settingListOutput{settingList{Object: "list", Data: converted(r.Changes.List(r.Settings), newSettingItem)}}, nil
}

func (r SettingsRoutes) change(ctx context.Context, key *app.Key, _ *struct{}, b *changeSettingsRequest) (*settingListOutput, error) {
	if err := r.Changes.Change(ctx, b.Values); err != nil {
		return nil, err
	}
	return r.settings(ctx, key, nil)
}

func (r SettingsRoutes) disk(ctx context.Context, _ *app.Key, _ *struct{}) (*diskOutput, error) {
	d, err := r.Disk.Report(ctx)
	if err != nil {
		return nil, err
	}
	return &diskOutput{diskUse{
		Object: "disk", Bytes: d.File, WALBytes: d.WAL, DiskFree: d.DiskFree, FreeBytes: d.Free, LookedAt: app.FormatTimePtr(d.At), Running: d.Running,
		Tables: converted(d.Tables, func(t retention.DiskTable) diskTable { return diskTable{Table: t.Name, Bytes: t.Bytes} }),
		Teams:  converted(d.Teams, newDiskTeam),
	}}, nil
}

func newDiskTeam(t retention.DiskTeam) diskTeam {
	return diskTeam{ID: t.ID, Team: t.Team, Emails: t.Emails, Bytes: t.Bytes, Images: t.Images, KeepContent: retention.FormatRetention(t.Kept.Content),
		KeepEmails: retention.FormatRetention(t.Kept.Emails), KeepBroadcasts: retention.FormatRetention(t.Kept.Broadcasts),
		Old: diskOld{Contents: t.OldContents, Emails: t.OldEmails, Bytes: t.OldBytes}}
}
