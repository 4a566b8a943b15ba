package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
)

// RefPrefix begins references to components.
const RefPrefix = "#/components/schemas/"

// Registry holds the schemas of a document that have names. The schema of a Go type is derived once
// in the process and shared by all registries, so it must not be changed: see Edit. A Registry is
// not safe for concurrent use.
type Registry struct {
	schemas map[string]*Schema // nil while a component is derived
	types   map[string]reflect.Type
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{schemas: map[string]*Schema{}, types: map[string]reflect.Type{}}
}

// MarshalJSON implements json.Marshaler.
func (r *Registry) MarshalJSON() ([]byte, error) { return json.Marshal(r.schemas) }

// Add adds a named schema and returns a reference to it.
func (r *Registry) Add(name string, s *Schema) *Schema {
	r.schemas[name] = s
	return &Schema{Ref: RefPrefix + name}
}

// Lookup returns the schema that a reference names; nil if there is none.
func (r *Registry) Lookup(ref string) *Schema { return r.schemas[strings.TrimPrefix(ref, RefPrefix)] }

// Edit replaces the schema that a reference names by a copy, and returns the copy. The caller may
// change its fields, and add and replace members of Properties.
func (r *Registry) Edit(ref string) *Schema {
	s := *r.Lookup(ref)
	s.Properties = maps.Clone(s.Properties)
	r.schemas[strings.TrimPrefix(ref, RefPrefix)] = &s
	return &s
}

// Component makes the schema of a type a component, with all that it refers to, and returns a
// reference to it. The component has the name of the type without its package and with its type
// arguments behind it, unless a blank field has the tag "schema" with another name. It panics if
// two types have one name.
func (r *Registry) Component(t reflect.Type) *Schema {
	name := componentName(t)
	r.add(name, t)
	return &Schema{Ref: RefPrefix + name}
}

func (r *Registry) add(name string, t reflect.Type) {
	if known := r.types[name]; known != nil {
		if known != t {
			panic(fmt.Sprintf("openapi: %s and %s have the same name", known, t))
		}
		return
	}
	r.types[name] = t
	if r.schemas == nil {
		return
	}
	c := componentOf(t)
	r.schemas[name] = c.schema
	for name, t := range c.uses {
		r.add(name, t)
	}
}

// component is the schema of a type, and the types of the components that it refers to by name.
type component struct {
	schema *Schema
	uses   map[string]reflect.Type
}

// components are the components of the process by their types.
var components sync.Map // of *component by reflect.Type

func componentOf(t reflect.Type) *component {
	if c, ok := components.Load(t); ok {
		return c.(*component)
	}
	uses := &Registry{types: map[string]reflect.Type{}}
	c, _ := components.LoadOrStore(t, &component{schema: uses.Inline(t), uses: uses.types})
	return c.(*component)
}

// componentName returns ListContact for list[audience.Contact].
func componentName(t reflect.Type) string {
	if name := blankTag(t, "schema"); name != "" {
		return name
	}
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(t.Name(), func(r rune) bool { return strings.ContainsRune("[],*", r) }) {
		part = part[strings.LastIndexByte(part, '.')+1:]
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// blankTag returns a tag of a struct's field that is named _; empty if there is none.
func blankTag(t reflect.Type, key string) string {
	if t.Kind() != reflect.Struct {
		return ""
	}
	f, _ := t.FieldByName("_")
	return f.Tag.Get(key)
}
