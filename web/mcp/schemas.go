package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// object returns the alternative of a schema that is an object.
func object(schema map[string]any) map[string]any {
	for _, name := range []string{"oneOf", "anyOf"} {
		alternatives, _ := schema[name].([]any)
		for _, a := range alternatives {
			if one := a.(map[string]any); one["type"] == "object" {
				return one
			}
		}
	}
	return schema
}

// inlined returns a schema with all references resolved: not every agent follows references. No
// schema refers to itself.
func inlined(h *rest.Handler, s *openapi.Schema) map[string]any {
	out, _ := inline(h, plain(s)).(map[string]any)
	return out
}

func inline(h *rest.Handler, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return inline(h, plain(h.OpenAPI().Components.Schemas.Lookup(ref)))
		}
		for name, member := range v {
			v[name] = inline(h, member)
		}
	case []any:
		for i, item := range v {
			v[i] = inline(h, item)
		}
	}
	return v
}

// plain converts a schema to maps and slices. It panics if the schema can't be encoded, which the
// document would not allow either.
func plain(s *openapi.Schema) (out any) {
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("schema of a tool: %v", err))
	}
	return out
}

// portable reduces an inlined schema to the part of JSON Schema that all clients support, as short
// as possible. Gemini and similar clients refuse tools whose schemas have a list of types, oneOf,
// siblings of anyOf, or a format other than date-time.
func portable(schema map[string]any) map[string]any {
	if schema["format"] != "date-time" {
		delete(schema, "format")
	}
	if schema["additionalProperties"] == false {
		delete(schema, "additionalProperties") // the operation refuses them
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[name].(map[string]any); ok {
			schema[name] = portable(inner)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		properties[name] = portable(property.(map[string]any))
	}
	alternatives := simpler(alternativesOf(schema))
	if len(alternatives) == 0 {
		return schema
	}
	// Siblings of the alternatives become part of the first alternative.
	maps.Copy(schema, alternatives[0])
	alternatives[0] = schema
	if len(alternatives) == 1 {
		return portable(schema)
	}
	out := make([]any, len(alternatives))
	for i := range alternatives {
		out[i] = portable(alternatives[i])
	}
	return map[string]any{"anyOf": out}
}

// alternativesOf removes and returns the alternatives of a schema: those of anyOf or oneOf, or one
// for each of several types; nil if there are none.
func alternativesOf(schema map[string]any) (out []map[string]any) {
	for _, name := range []string{"anyOf", "oneOf"} {
		list, ok := schema[name].([]any)
		if !ok {
			continue
		}
		delete(schema, name)
		for _, a := range list {
			one := a.(map[string]any)
			if inner := alternativesOf(one); inner != nil {
				maps.Copy(inner[0], one)
				out = append(out, inner...)
			} else {
				out = append(out, one)
			}
		}
		return out
	}
	types, _ := schema["type"].([]any)
	for _, t := range types {
		delete(schema, "type")
		out = append(out, map[string]any{"type": t})
	}
	return out
}

// simpler drops alternatives that agents don't need: a string instead of a list of one, and other
// libraries' forms of bytes than Base64.
func simpler(alternatives []map[string]any) []map[string]any {
	typed := func(name string) bool {
		return slices.ContainsFunc(alternatives, func(a map[string]any) bool { return a["type"] == name })
	}
	if slices.ContainsFunc(alternatives, func(a map[string]any) bool { return a["contentEncoding"] != nil }) {
		return slices.DeleteFunc(alternatives, func(a map[string]any) bool { return a["contentEncoding"] == nil })
	}
	if typed("array") {
		return slices.DeleteFunc(alternatives, func(a map[string]any) bool { return a["type"] == "string" })
	}
	if typed("object") && typed("string") {
		return slices.DeleteFunc(alternatives, func(a map[string]any) bool { return a["type"] == "object" })
	}
	return alternatives
}

// withoutDescriptions removes all descriptions from a schema.
func withoutDescriptions(schema map[string]any) {
	delete(schema, "description")
	delete(schema, "examples")
	for name, inner := range schema {
		switch inner := inner.(type) {
		case map[string]any:
			if name != "properties" {
				withoutDescriptions(inner)
				continue
			}
			for _, property := range inner {
				withoutDescriptions(property.(map[string]any))
			}
		case []any:
			for _, item := range inner {
				if one, ok := item.(map[string]any); ok {
					withoutDescriptions(one)
				}
			}
		}
	}
}
