package pages

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"mailer/web/rest/openapi"
)

// documentForm documents what a route of a form or of a confirmation takes and answers.
func documentForm(doc *openapi.Document, op *openapi.Operation) {
	text := &openapi.MediaType{Schema: &openapi.Schema{Type: openapi.TypeString}}
	page := map[string]*openapi.MediaType{"text/html": text}
	ok := page
	statuses := []int{http.StatusNotFound, http.StatusInternalServerError, http.StatusServiceUnavailable}
	switch {
	case strings.HasSuffix(op.Path, "/challenge") && op.Method == http.MethodGet:
		ok = map[string]*openapi.MediaType{"application/json": {Schema: component[FormChallenge](doc)}}
		page = op.Responses["500"].Content
	case op.Path == "/f/{form}" && op.Method == http.MethodPost:
		ok = map[string]*openapi.MediaType{"text/html": text, "application/json": {Schema: component[FormAnswer](doc)}}
	case op.Path == "/f/{form}" && op.Method == http.MethodGet:
		ok = map[string]*openapi.MediaType{"text/html": text, "text/javascript": text}
		statuses = append(statuses, http.StatusNotModified)
	}
	if op.Method == http.MethodPost {
		op.RequestBody = signUpBody(doc, op.Path)
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
	}
	if op.Method == http.MethodHead {
		ok, page = nil, nil
	}
	op.Responses = map[string]*openapi.Response{"200": {Description: http.StatusText(http.StatusOK), Content: ok}}
	for _, status := range statuses {
		op.Responses[strconv.Itoa(status)] = &openapi.Response{Description: http.StatusText(status), Content: page}
	}
	if unprocessable := op.Responses["422"]; unprocessable != nil && op.Path == "/f/{form}" {
		unprocessable.Content = map[string]*openapi.MediaType{"text/html": text, "application/json": {Schema: component[FormError](doc)}}
	}
}

// component returns a reference to the schema of a type.
func component[T any](doc *openapi.Document) *openapi.Schema {
	return doc.Components.Schemas.Component(reflect.TypeFor[T]())
}

// signUpBody documents the body of a submission, of a decision, or of a refusal. Inputs named after
// properties are described in text: generators have no schema for them.
func signUpBody(doc *openapi.Document, path string) *openapi.RequestBody {
	if strings.HasSuffix(path, refuseSuffix) {
		return nil // whatever it says, the request refuses
	}
	text := func(about string) *openapi.Schema {
		return &openapi.Schema{Type: openapi.TypeString, Description: about}
	}
	topics := &openapi.Schema{Type: openapi.TypeArray, Items: &openapi.Schema{Type: openapi.TypeString},
		Description: "The ids of the chosen topics. An empty one says that the visitor could choose"}
	const form, object = "application/x-www-form-urlencoded", "application/json"
	const fields = "One more input for each field of the form, named after its property"
	if path != "/f/{form}" {
		decision := doc.Components.Schemas.Add("OptInDecision", &openapi.Schema{Type: openapi.TypeObject, Description: fields, Properties: map[string]*openapi.Schema{
			decisionInput: {Type: openapi.TypeString, Enum: []any{decideConfirm, decideAgain}, Description: "Which button was pressed; without it nothing changes"}, topicsInput: topics,
		}})
		return &openapi.RequestBody{Content: map[string]*openapi.MediaType{form: {Schema: decision}}}
	}
	inputs := func(name string) *openapi.Schema {
		return &openapi.Schema{Type: openapi.TypeObject, Description: fields, Properties: map[string]*openapi.Schema{
			emailInput: text("The address to sign up"), name: topics, proofInput: text("The solution of a challenge"),
			buttonInput: text("The token of a button"), openedInput: text("The token of the page of the form, which has it in a hidden input"), trapInput: text("People leave it empty"),
		}}
	}
	return &openapi.RequestBody{Content: map[string]*openapi.MediaType{
		form:   {Schema: doc.Components.Schemas.Add("FormSubmission", inputs(topicsInput))},
		object: {Schema: doc.Components.Schemas.Add("FormSubmissionJSON", inputs("topics"))},
	}}
}
