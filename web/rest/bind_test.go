package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/julienschmidt/httprouter"

	"mailer/web/rest/openapi"
)

type (
	boundPart struct {
		ID string `path:"id"`
	}
	boundInput struct {
		boundPart
		PageParams
		Zone  string   `query:"zone" default:"UTC"`
		Words []string `query:"words"`
		Mark  string   `header:"X-Mark"`
	}
)

func TestBindParameters(t *testing.T) {
	part, standard := boundPart{ID: "a/b"}, "UTC"
	for name, tt := range map[string]struct {
		query string
		mark  string
		want  boundInput
	}{
		"nothing said":            {want: boundInput{Zone: standard}},
		"a text":                  {query: "zone=Europe%2FBerlin", want: boundInput{Zone: "Europe/Berlin"}},
		"an empty text":           {query: "zone=", want: boundInput{Zone: standard}},
		"the first of two":        {query: "zone=A&zone=B", want: boundInput{Zone: "A"}},
		"a plus":                  {query: "zone=a+b%2B", want: boundInput{Zone: "a b+"}},
		"a kind of text, deep in": {query: "limit=5&after=x", want: boundInput{Zone: standard, PageParams: PageParams{Limit: "5", After: "x"}}},
		"a flag":                  {query: "zone&other=A", want: boundInput{Zone: "true"}},
		"behind a flag":           {query: "other&zone=A", want: boundInput{Zone: "A"}},
		"a wrong escape":          {query: "%zz=1&zone=%zz", want: boundInput{Zone: standard}},
		"a list with commas":      {query: "words=a,%20b,,c", want: boundInput{Zone: standard, Words: []string{"a", "b", "c"}}},
		"a list repeated":         {query: "words=a&words=b,c", want: boundInput{Zone: standard, Words: []string{"a", "b", "c"}}},
		"an empty list":           {query: "words=,", want: boundInput{Zone: standard}},
		"a header":                {mark: "m", want: boundInput{Zone: standard, Mark: "m"}},
		"what nobody asked for":   {query: "id=q&X-Mark=q", want: boundInput{Zone: standard}},
	} {
		r := httptest.NewRequest("GET", "/bound?"+tt.query, nil)
		if tt.mark != "" {
			r.Header.Set("x-mark", tt.mark)
		}
		tt.want.boundPart = part
		x := &Exchange{params: httprouter.Params{{Key: "id", Value: "a/b"}}}
		if got := inputPlanOf(reflect.TypeFor[boundInput]()).bind(x, r).(*boundInput); !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, *got, tt.want)
		}
	}
}

// TestUnsupportedInputsPanic: such a parameter would silently stay empty.
func TestUnsupportedInputsPanic(t *testing.T) {
	wantPanic := func(name string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s is taken", name)
			}
		}()
		f()
	}
	for name, input := range map[string]reflect.Type{
		"a number": reflect.TypeFor[struct {
			N int `query:"n"`
		}](),
		"a pointer": reflect.TypeFor[struct {
			P *string `query:"p"`
		}](),
		"a list in the header": reflect.TypeFor[struct {
			L []string `header:"l"`
		}](),
		"a hidden field": reflect.TypeFor[struct {
			h string `query:"h"`
		}](),
	} {
		wantPanic(name, func() { inputPlanOf(input) })
	}
	wantPanic("an output's field without a place", func() { outputPlanOf(reflect.TypeFor[struct{ Name string }]()) })
	wantPanic("an output's header that is a number", func() {
		outputPlanOf(reflect.TypeFor[struct {
			N int `header:"n"`
		}]())
	})
}

type (
	writtenJSON struct {
		Status int
		Mark   string `header:"X-Mark"`
		Body   struct {
			A string `json:"a"`
		}
	}
	writtenBytes struct {
		ContentType string `header:"Content-Type" hidden:"true"`
		Body        []byte
	}
)

func TestOutputs(t *testing.T) {
	made := &writtenJSON{Status: 201, Mark: "m"}
	made.Body.A = "<é>"
	for name, tt := range map[string]struct {
		output any
		status int
		body   string
		header string
	}{
		"JSON with a status":   {made, 201, "{\"a\":\"<é>\"}\n", "Content-Type=application/json X-Mark=m"},
		"JSON without headers": {&writtenJSON{Status: 200}, 200, "{\"a\":\"\"}\n", "Content-Type=application/json"},
		"bytes":                {&writtenBytes{"text/plain", []byte("x")}, 204, "x", "Content-Type=text/plain"},
		"no body":              {&struct{}{}, 204, "", ""},
		"no output":            {(*writtenJSON)(nil), 204, "", ""},
		"none at all":          {nil, 204, "", ""},
	} {
		w := httptest.NewRecorder()
		x := &Exchange{ResponseWriter: w, memory: &answerMemory{budget: newAnswerBudget(defaultAnswerLimits(), slog.New(slog.DiscardHandler))}}
		of := reflect.TypeFor[writtenJSON]()
		if tt.output != nil {
			of = reflect.TypeOf(tt.output).Elem()
		}
		plan := outputPlanOf(of)
		answer, err := plan.encode(x, tt.output)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		plan.write(t.Context(), x, http.StatusNoContent, tt.output, answer)
		var header []string
		for key, values := range w.Header() {
			header = append(header, key+"="+values[0])
		}
		slices.Sort(header)
		if w.Code != tt.status || w.Body.String() != tt.body || strings.Join(header, " ") != tt.header {
			t.Errorf("%s: %d %q %v", name, w.Code, w.Body, header)
		}
	}
}

func TestUnencodableAnswerIsAnError(t *testing.T) {
	b := newFixture(t)
	RegisterPublic(b.handler, Route{}, openapi.Operation{OperationID: "unwritable", Method: "GET", Path: "/unwritable"},
		func(context.Context, *struct{}) (*struct{ Body unwritable }, error) {
			return &struct{ Body unwritable }{}, nil
		})
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequest("GET", "/unwritable", nil))
	if w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, http.ErrBodyNotAllowed }

func BenchmarkBind(b *testing.B) {
	plan := inputPlanOf(reflect.TypeFor[boundInput]())
	x := &Exchange{params: httprouter.Params{{Key: "id", Value: "a"}}}
	r := httptest.NewRequest("GET", "/bound?limit=5&zone=UTC", nil)
	for b.Loop() {
		plan.bind(x, r)
	}
}
