package rest

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/julienschmidt/httprouter"

	"mailer/app"
)

// redundantIDs maps names of body members and query keys that repeat a path parameter to the name
// of that parameter. Clients repeat path parameters.
type redundantIDs map[string]string

// parameterAliases are further names of a parameter, by its kind.
var parameterAliases = map[string][]string{
	"segment":          {"audience_id"},
	"audience":         {"segment_id"},
	"contact":          {"email"},
	"suppression":      {"email"},
	"contact_property": {"property_id"},
	"receiving":        {"email_id"},
}

// redundantIDsOf returns the names for a path: for /topics/{id} id and topic_id. "id" repeats the
// last parameter.
func redundantIDsOf(path string) redundantIDs {
	out := redundantIDs{}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		param, ok := strings.CutPrefix(s, "{")
		if !ok {
			continue
		}
		param = strings.TrimSuffix(param, "}")
		kind := kindOf(segments[i-1])
		out["id"], out[param], out[kind+"_id"] = param, param, param
		for _, name := range parameterAliases[kind] {
			out[name] = param
		}
	}
	if last := strings.LastIndexByte(path, '{'); last >= 0 {
		out["id"], _, _ = strings.Cut(path[last+1:], "}")
	}
	return out
}

// kindOf returns the singular of a collection: "contact_property" for "contact-properties".
func kindOf(collection string) string {
	kind := strings.ReplaceAll(collection, "-", "_")
	if stem, ok := strings.CutSuffix(kind, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(kind, "s")
}

// sameResource reports whether a name in the path and a different one in the body name the same
// resource, like an id and an address.
type sameResource func(pathName, bodyName string) (bool, error)

// sameResourceOf returns the comparison for a route.
func sameResourceOf(ctx context.Context, x *Exchange, rt *Route) sameResource {
	if rt.IDOf == nil {
		return func(string, string) (bool, error) { return false, nil }
	}
	return func(pathName, bodyName string) (bool, error) {
		id, err := rt.IDOf(ctx, x.Key, pathName)
		if err != nil {
			return app.CodeOf(err) == app.CodeNotFound, unlessNotFound(err) // the handler refuses the path
		}
		other, err := rt.IDOf(ctx, x.Key, bodyName)
		return err == nil && id == other, unlessNotFound(err)
	}
}

func unlessNotFound(err error) error {
	if app.CodeOf(err) == app.CodeNotFound {
		return nil
	}
	return err
}

// decode decodes a body without the unknown members that repeat the path. Errors: those of
// DecodeBody and of same; CodeValidation for a member that names another resource than the path.
func (ids redundantIDs) decode(params httprouter.Params, same sameResource, body []byte, v any) error {
	for range len(ids) + 1 {
		err := json.Unmarshal(body, v, json.RejectUnknownMembers(true))
		name, ok := unknownMember(err)
		param, isEcho := ids[name]
		switch {
		case err == nil:
			return nil
		case !ok || !isEcho:
			return BodyError(err)
		}
		var value jsontext.Value
		if body, value, err = withoutMember(body, name); err != nil {
			return BodyError(err)
		}
		repeats, err := repeats(params.ByName(param), value, same)
		if err != nil {
			return err
		}
		if !repeats {
			return app.Invalid(name, "can only repeat what the path says, and says something else: leave it out")
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	return DecodeBody(body, v)
}

// unknownMember returns the unknown top-level member that err is about.
func unknownMember(err error) (name string, ok bool) {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) || !errors.Is(semantic, json.ErrUnknownName) || semantic.JSONPointer.Parent() != "" {
		return "", false
	}
	return semantic.JSONPointer.LastToken(), true
}

// withoutMember returns an object without one member, and the member's value.
func withoutMember(object []byte, name string) (rest []byte, value jsontext.Value, err error) {
	d, out := jsontext.NewDecoder(bytes.NewReader(object)), &bytes.Buffer{}
	e := jsontext.NewEncoder(out)
	for d.PeekKind() != '}' || d.StackDepth() == 0 {
		token, err := d.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		if d.StackDepth() == 1 && token.Kind() == '"' && token.String() == name {
			v, err := d.ReadValue()
			if err != nil {
				return nil, nil, err
			}
			value = v.Clone()
			continue
		}
		opens := token.Kind() == '{'
		if err := e.WriteToken(token); err != nil {
			return nil, nil, err
		}
		if opens {
			continue
		}
		v, err := d.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		if err := e.WriteValue(v); err != nil {
			return nil, nil, err
		}
	}
	err = e.WriteToken(jsontext.EndObject)
	return out.Bytes(), value, err
}

// repeats reports whether a value names the same resource as a parameter, or is empty or null.
// Errors: those of same.
func repeats(param string, value jsontext.Value, same sameResource) (bool, error) {
	var text *string
	if json.Unmarshal(value, &text) != nil {
		return false, nil
	}
	if text == nil || *text == "" || SameName(param, *text) {
		return true, nil
	}
	_, byID := app.ParseID(param)
	if _, id := app.ParseID(*text); byID && id {
		return false, nil
	}
	return same(param, *text)
}

// SameName reports whether two names are equal, or the same id, or the same address.
func SameName(a, b string) bool {
	if a == b {
		return true
	}
	id, ok := app.ParseID(a)
	other, ok2 := app.ParseID(b)
	if ok && ok2 {
		return id == other
	}
	_, address, err := app.ParseBareAddress(a)
	_, address2, err2 := app.ParseBareAddress(b)
	return err == nil && err2 == nil && address == address2
}
