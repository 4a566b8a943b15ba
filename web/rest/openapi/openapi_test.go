package openapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type (
	color string // a simple type with a name

	point struct {
		X int `json:"x"`
		Y int `json:"y,omitempty"`
	}

	pair[A, B any] struct {
		First  A `json:"first"`
		Second B `json:"second"`
	}

	renamed struct {
		_ struct{} `schema:"Earlier" nullable:"true"`
	}

	node struct {
		Children []node           `json:"children,omitempty"`
		Parent   *node            `json:"parent,omitempty"`
		ByName   map[string]*node `json:"by_name,omitempty"`
		Leaf     branch           `json:"leaf,omitzero"`
	}
	branch struct {
		Of *node `json:"of"`
	}

	base struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	Other struct {
		Z bool `json:"z"`
	}
	derived struct {
		base
		*Other
		Secret  string `json:"-"`
		Name    string
		Shadow  int `json:"secret"`
		Nested  `json:"nested"`
		private int
	}
	Nested struct {
		A *string `json:"a"`
	}

	upper string // encoded as text

	// either makes its schema itself.
	either struct{ V any }
)

func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

func (either) Schema(r *Registry) *Schema {
	return &Schema{OneOf: []*Schema{{Type: TypeString, Nullable: true}, r.Schema(reflect.TypeFor[point]())}}
}

var _ = derived{}.private // is no member

// TestSchemasOfTypes compares the schema of a type, and the components that it needs, with JSON.
func TestSchemasOfTypes(t *testing.T) {
	const pointComponent = `"Point":{"type":"object","properties":{"x":{"type":"integer","format":"int64"},"y":{"type":"integer","format":"int64"}},"required":["x"],"additionalProperties":false}`
	for _, tt := range []struct {
		of         reflect.Type
		want       string
		components string
	}{
		{reflect.TypeFor[bool](), `{"type":"boolean"}`, ``},
		{reflect.TypeFor[int](), `{"type":"integer","format":"int64"}`, ``},
		{reflect.TypeFor[int64](), `{"type":"integer","format":"int64"}`, ``},
		{reflect.TypeFor[float64](), `{"type":"number","format":"double"}`, ``},
		{reflect.TypeFor[color](), `{"type":"string"}`, ``},
		{reflect.TypeFor[[]byte](), `{"type":"string","contentEncoding":"base64"}`, ``},
		{reflect.TypeFor[any](), `{}`, ``},
		{reflect.TypeFor[upper](), `{"type":"string"}`, ``},
		{reflect.TypeFor[*upper](), `{"type":["string","null"]}`, ``},
		{reflect.TypeFor[time.Time](), `{"type":"string","format":"date-time"}`, ``},
		{reflect.TypeFor[*time.Time](), `{"type":["string","null"],"format":"date-time"}`, ``},
		{reflect.TypeFor[*int](), `{"type":["integer","null"],"format":"int64"}`, ``},
		{reflect.TypeFor[[]*string](), `{"type":"array","items":{"type":["string","null"]}}`, ``},
		{reflect.TypeFor[*[]string](), `{"type":"array","items":{"type":"string"}}`, ``},
		{reflect.TypeFor[map[color][]bool](), `{"type":"object","additionalProperties":{"type":"array","items":{"type":"boolean"}}}`, ``},
		{reflect.TypeFor[struct {
			A string `json:"a"`
		}](), `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, ``},
		{reflect.TypeFor[struct{}](), `{"type":"object","additionalProperties":false}`, ``},
		{reflect.TypeFor[point](), `{"$ref":"#/components/schemas/Point"}`, pointComponent},
		{reflect.TypeFor[*point](), `{"$ref":"#/components/schemas/Point"}`, pointComponent},
		{reflect.TypeFor[map[string]point](), `{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Point"}}`, pointComponent},
		{reflect.TypeFor[[]either](), `{"type":"array","items":{"oneOf":[{"type":["string","null"]},{"$ref":"#/components/schemas/Point"}]}}`, pointComponent},
		{reflect.TypeFor[*either](), `{"oneOf":[{"type":["string","null"]},{"$ref":"#/components/schemas/Point"}]}`, pointComponent},
		{reflect.TypeFor[pair[int, *point]](), `{"$ref":"#/components/schemas/PairIntPoint"}`,
			`"PairIntPoint":{"type":"object","properties":{"first":{"type":"integer","format":"int64"},"second":{"$ref":"#/components/schemas/Point"}},"required":["first","second"],"additionalProperties":false},` + pointComponent},
		{reflect.TypeFor[renamed](), `{"$ref":"#/components/schemas/Earlier"}`, `"Earlier":{"type":["object","null"],"additionalProperties":false}`},
		{reflect.TypeFor[node](), `{"$ref":"#/components/schemas/Node"}`,
			`"Branch":{"type":"object","properties":{"of":{"$ref":"#/components/schemas/Node"}},"required":["of"],"additionalProperties":false},
			"Node":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/components/schemas/Node"}},"parent":{"$ref":"#/components/schemas/Node"},
				"by_name":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Node"}},"leaf":{"$ref":"#/components/schemas/Branch"}},"additionalProperties":false}`},
		{reflect.TypeFor[derived](), `{"$ref":"#/components/schemas/Derived"}`,
			`"Derived":{"type":"object","properties":{"Name":{"type":"string"},"secret":{"type":"integer","format":"int64"},"nested":{"$ref":"#/components/schemas/Nested"},"id":{"type":"string"},"z":{"type":"boolean"}},
				"required":["Name","secret","nested","id","z"],"additionalProperties":false},
			"Nested":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`},
	} {
		for range 2 { // the second registry finds the components in the cache
			r := NewRegistry()
			wantJSON(t, tt.of.String(), r.Schema(tt.of), tt.want)
			wantJSON(t, "the components of "+tt.of.String(), r, "{"+tt.components+"}")
		}
	}
}

func TestTags(t *testing.T) {
	type tagged struct {
		Doc       string   `doc:"What it is"`
		Format    string   `format:"uuid"`
		Formats   []string `format:"uuid" minItems:"1" maxItems:"3"`
		Text      string   `minLength:"1" maxLength:"9" pattern:"^a"`
		Texts     []string `maxLength:"9" enum:"a,b"`
		Number    float64  `minimum:"-1.5" maximum:"2"`
		Zero      int      `minimum:"0"`
		Enum      color    `enum:"red,dark blue"`
		Numbers   []int    `enum:"1,2"`
		Default   color    `default:"red"`
		True      bool     `default:"true"`
		Example   string   `example:"1"`
		One       int      `example:"1"`
		Null      []string `nullable:"true"`
		NoNull    *string  `nullable:"false"`
		Reference point    `doc:"Where"`
	}
	r, of := NewRegistry(), reflect.TypeFor[tagged]()
	for name, want := range map[string]string{
		"Doc":       `{"type":"string","description":"What it is"}`,
		"Format":    `{"type":"string","format":"uuid"}`,
		"Formats":   `{"type":"array","items":{"type":"string","format":"uuid"},"minItems":1,"maxItems":3}`,
		"Text":      `{"type":"string","minLength":1,"maxLength":9,"pattern":"^a"}`,
		"Texts":     `{"type":"array","items":{"type":"string","maxLength":9,"enum":["a","b"]}}`,
		"Number":    `{"type":"number","format":"double","minimum":-1.5,"maximum":2}`,
		"Zero":      `{"type":"integer","format":"int64","minimum":0}`,
		"Enum":      `{"type":"string","enum":["red","dark blue"]}`,
		"Numbers":   `{"type":"array","items":{"type":"integer","format":"int64","enum":[1,2]}}`,
		"Default":   `{"type":"string","default":"red"}`,
		"True":      `{"type":"boolean","default":true}`,
		"Example":   `{"type":"string","examples":["1"]}`,
		"One":       `{"type":"integer","format":"int64","examples":[1]}`,
		"Null":      `{"type":["array","null"],"items":{"type":"string"}}`,
		"NoNull":    `{"type":"string"}`,
		"Reference": `{"$ref":"#/components/schemas/Point","description":"Where"}`,
	} {
		f, _ := of.FieldByName(name)
		wantJSON(t, name, r.Field(f), want)
	}
}

// TestMembers checks which members of an object are required, and which allow null.
func TestMembers(t *testing.T) {
	got := NewRegistry().Inline(reflect.TypeFor[struct {
		Required string  `json:"required"`
		Null     *string `json:"null"`
		Empty    string  `json:"empty,omitempty"`
		Zero     *int    `json:"zero,omitzero"`
		Pointer  *int    `json:"pointer,omitempty"`
		Both     *int    `json:"both,omitempty" nullable:"true"`
		Own      *either `json:"own,omitzero"`
		Optional string  `json:"optional" required:"false"`
		Always   string  `json:"always,omitempty" required:"true"`
		Hidden   string  `json:"hidden" hidden:"true"`
		Ignored  string  `json:"-"`
	}]())
	wantJSON(t, "the object", got, `{"type":"object","additionalProperties":false,"required":["required","null","always"],"properties":{
		"required":{"type":"string"},"null":{"type":["string","null"]},"empty":{"type":"string"},"zero":{"type":"integer","format":"int64"},"pointer":{"type":"integer","format":"int64"},
		"both":{"type":["integer","null"],"format":"int64"},"own":{"oneOf":[{"type":["string","null"]},{"$ref":"#/components/schemas/Point"}]},"optional":{"type":"string"},"always":{"type":"string"}}}`)
}

// TestEdit checks that a changed component stays as it was in other registries.
func TestEdit(t *testing.T) {
	one, two := NewRegistry(), NewRegistry()
	ref := one.Schema(reflect.TypeFor[point]()).Ref
	s := one.Edit(ref)
	s.Description, s.Properties["z"] = "Deep", &Schema{Type: TypeInteger}
	one.Component(reflect.TypeFor[point]())
	if got := one.Lookup(ref); got.Description != "Deep" || got.Properties["z"] == nil {
		t.Errorf("the change is lost: %+v", got)
	}
	two.Component(reflect.TypeFor[point]())
	if got := two.Lookup(ref); got.Description != "" || got.Properties["z"] != nil {
		t.Errorf("another registry has the change: %+v", got)
	}
	if two.Lookup(RefPrefix+"Unknown") != nil {
		t.Error("an unknown component is found")
	}
}

func TestComponents(t *testing.T) {
	r := NewRegistry()
	added := r.Add("Form", &Schema{Type: TypeObject})
	list := r.Component(reflect.TypeFor[either]())
	if added.Ref != RefPrefix+"Form" || r.Lookup(added.Ref).Type != TypeObject || list.Ref != RefPrefix+"Either" || r.Lookup(list.Ref).OneOf == nil || r.Lookup(RefPrefix+"Point") == nil {
		b, _ := json.Marshal(r)
		t.Errorf("%s and %s in %s", added.Ref, list.Ref, b)
	}
}

func TestMistakesPanic(t *testing.T) {
	local := func() reflect.Type {
		type point struct{}
		return reflect.TypeFor[point]()
	}
	r := NewRegistry()
	r.Component(reflect.TypeFor[point]())
	for name, mistake := range map[string]func(){
		"two types of one name":   func() { r.Component(local()) },
		"a type without a schema": func() { r.Schema(reflect.TypeFor[chan int]()) },
		"a pointer to a pointer":  func() { r.Schema(reflect.TypeFor[**int]()) },
		"a length that is no number": func() {
			r.Inline(reflect.TypeFor[struct {
				A string `maxLength:"x"`
			}]())
		},
		"a flag that is none": func() {
			r.Inline(reflect.TypeFor[struct {
				A string `hidden:"x"`
			}]())
		},
		"a default of another type": func() {
			r.Inline(reflect.TypeFor[struct {
				A int `default:"x"`
			}]())
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", name)
				}
			}()
			mistake()
		}()
	}
}

// TestDocumentJSON checks what of a document is written when it is empty.
func TestDocumentJSON(t *testing.T) {
	r := NewRegistry()
	file := Binary()
	file.Description = "Any file"
	d := &Document{
		OpenAPI: "3.1.0", Info: Info{Title: "A", Version: "1"}, Components: Components{Schemas: r},
		Paths: map[string]PathItem{"/a": {
			"get":  {OperationID: "a", Path: "/a", Method: "GET", DefaultStatus: 200, Errors: []int{404}, Security: []map[string][]string{}},
			"post": {RequestBody: &RequestBody{Content: map[string]*MediaType{"*/*": {Schema: file}}}, Parameters: []*Param{{Name: "q", In: "query", Explode: new(false)}}},
		}},
	}
	wantJSON(t, "the document", d, `{"openapi":"3.1.0","info":{"title":"A","version":"1"},"components":{"schemas":{}},"paths":{"/a":{
		"get":{"operationId":"a","security":[]},
		"post":{"requestBody":{"content":{"*/*":{"schema":{"type":"string","format":"binary","contentMediaType":"application/octet-stream","description":"Any file"}}}},"parameters":[{"name":"q","in":"query","explode":false}]}}}}`)
}

// wantJSON compares the JSON of v, whose members have no order.
func wantJSON(t *testing.T, name string, v any, want string) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got, expected any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("%s is\n%s\nwant\n%s", name, raw, want)
	}
}
