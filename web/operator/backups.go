package operator

import (
	"context"
	"net/http"
	"path/filepath"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/backup"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// BackupItem is a backup in the server's folder.
type BackupItem struct {
	File  string `json:"file" doc:"Its name in the folder"`
	Bytes int64  `json:"bytes"`
	At    string `json:"at" format:"date-time" doc:"When it was begun, to the second"`
}

type backupList struct {
	Object  string       `json:"object" enum:"list"`
	Data    []BackupItem `json:"data" doc:"Newest first, as many as are kept"`
	Dir     *string      `json:"dir" doc:"The folder; null: the server can make no backups of its database"`
	Daily   bool         `json:"daily" doc:"The server makes one each day; else only those that are asked for"`
	Running bool         `json:"running" doc:"One is being made"`
}

type madeBackup struct {
	Object string      `json:"object" enum:"backup"`
	Status string      `json:"status" enum:"done,running" doc:"running: it takes longer, and is in the list once it is done"`
	Backup *BackupItem `json:"backup" doc:"null while it is running"`
}

type (
	backupListOutput struct{ Body backupList }
	madeBackupOutput struct{ Body madeBackup }
)

// BackupRoutes are the routes of backups.
type BackupRoutes struct{ Service *backup.Service }

// Add adds the routes to a handler.
func (r BackupRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "list-backups", Method: http.MethodGet, Path: "/backups",
		Summary: "List the backups that the server made in its folder", Tags: serverTags,
	}, r.list)
	rest.Register(h, rest.Route{Operator: true, Fresh: true}, openapi.Operation{
		OperationID: "create-backup", Method: http.MethodPost, Path: "/backups", DefaultStatus: http.StatusCreated,
		Summary: "Make a backup in the server's folder now; a long backup continues after the answer", Tags: serverTags,
		Errors: []int{http.StatusConflict, http.StatusServiceUnavailable},
	}, r.create)
}

func (r BackupRoutes) list(_ context.Context, _ *app.Key, _ *struct{}) (*backupListOutput, error) {
	folder, err := r.Service.Directory()
	if err != nil {
		return nil, err
	}
	files := converted(folder.Files, func(f backup.File) BackupItem {
		return BackupItem{File: f.Name, Bytes: f.Bytes, At: app.FormatTime(f.At)}
	})
	return &backupListOutput{backupList{Object: "list", Data: files, Dir: base.TextOrNull(folder.Dir), Daily: folder.Daily, Running: folder.Running}}, nil
}

func (r BackupRoutes) create(ctx context.Context, _ *app.Key, _ *struct{}) (*madeBackupOutput, error) {
	made, done, err := r.Service.MakeNow(ctx)
	if err != nil {
		return nil, err
	}
	out := madeBackup{Object: "backup", Status: "running"}
	if done {
		out.Status, out.Backup = "done", &BackupItem{File: filepath.Base(made.File), Bytes: made.Bytes, At: made.At}
	}
	return &madeBackupOutput{out}, nil
}
