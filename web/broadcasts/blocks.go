package broadcasts

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// BlockItem is a saved block in a list.
type BlockItem struct {
	ID        string `json:"id" format:"uuid"`
	Name      string `json:"name"`
	CreatedAt string `json:"created_at" format:"date-time"`
	UpdatedAt string `json:"updated_at" format:"date-time"`
}

type blockRecord struct {
	Object string `json:"object" enum:"block"`
	BlockItem
	HTML string `json:"html"`
}

type removedBlock struct {
	Object  string `json:"object" enum:"block"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createBlockRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Documents name the block by it; unique in the team"`
	HTML string `json:"html" minLength:"1" maxLength:"65536" doc:"May use Liquid with the contact's values. Documents in Liquid put it between tags with {% block \"NAME\" %}"`
}

type updateBlockRequest struct {
	Name string `json:"name,omitempty" maxLength:"100" doc:"Refused as a conflict while the block is used"`
	HTML string `json:"html,omitempty" maxLength:"65536"`
}

// BlockPath is the path parameter of one saved block.
type BlockPath struct {
	ID string `path:"id" doc:"The id of the block" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *BlockPath) Resource() (kind string, id *string) { return "block", &p.ID }

var blockTags = []string{"Blocks"}

// BlockRoutes are the routes of saved blocks.
type BlockRoutes struct{ Service *mail.Blocks }

// Add adds the routes to a handler.
func (r BlockRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-block", Method: http.MethodPost, Path: "/blocks", DefaultStatus: http.StatusCreated,
		Summary: "Create a saved block: HTML that templates and broadcasts in Liquid share", Tags: blockTags,
		Errors: []int{http.StatusConflict},
	}, r.createBlock)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-blocks", Method: http.MethodGet, Path: "/blocks",
		Summary: "List saved blocks, newest first", Tags: blockTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListBlocks, newBlockItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-block", Method: http.MethodGet, Path: "/blocks/{id}",
		Summary: "Get a saved block with its HTML", Tags: blockTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*BlockPath](r.Service.GetBlock, newBlockRecord))
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-block", Method: http.MethodPatch, Path: "/blocks/{id}",
		Summary: "Change a saved block. Templates use it from the next send on, broadcasts until they are queued", Tags: blockTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateBlock)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-block", Method: http.MethodDelete, Path: "/blocks/{id}",
		Summary: "Delete a saved block. Refused while a template or an unsent broadcast uses it", Tags: blockTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, rest.Do[*BlockPath](r.Service.DeleteBlock, func(id string) removedBlock { return removedBlock{Object: "block", ID: id, Deleted: true} }))
}

func (r BlockRoutes) createBlock(ctx context.Context, key *app.Key, _ *struct{}, request *createBlockRequest) (*rest.Output[blockRecord], error) {
	return rest.Answer(newBlockRecord)(r.Service.CreateBlock(ctx, key, app.BlockInput{Name: request.Name, HTML: request.HTML}))
}

func (r BlockRoutes) updateBlock(ctx context.Context, key *app.Key, in *BlockPath, request *updateBlockRequest) (*rest.Output[blockRecord], error) {
	return rest.Answer(newBlockRecord)(r.Service.UpdateBlock(ctx, key, in.ID, app.BlockPatch{Name: request.Name, HTML: request.HTML}))
}

func newBlockItem(b *app.Block) BlockItem {
	return BlockItem{ID: b.ID, Name: b.Name, CreatedAt: app.FormatTime(b.CreatedAt), UpdatedAt: app.FormatTime(b.UpdatedAt)}
}

func newBlockRecord(b *app.Block) blockRecord {
	return blockRecord{Object: "block", BlockItem: newBlockItem(b), HTML: b.HTML}
}
