package account

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// SecondFactorRoutes are the routes of second factors and confirmations.
type SecondFactorRoutes struct{ Service *accounts.Service }

type secondFactorRequest struct {
	Code         string `json:"code,omitempty" doc:"What the authenticator shows"`
	RecoveryCode string `json:"recovery_code,omitempty" doc:"Instead of it; it counts once"`
}

type confirmRequest struct {
	Password string `json:"password,omitempty"`
	Code     string `json:"code,omitempty" doc:"Instead of the password: what the authenticator shows"`
}

type changePasswordRequest struct {
	Current string `json:"current,omitempty" doc:"Current password; absent if none is set"`
	New     string `json:"new" minLength:"12" maxLength:"1000"`
}

type confirmTOTPRequest struct {
	Code string `json:"code" doc:"What the authenticator shows"`
}

type proved struct {
	Object string `json:"object" enum:"session"`
	Proved bool   `json:"proved" enum:"true" doc:"What needs a fresh proof goes for ten minutes from now on"`
}

type totpOffer struct {
	Object string `json:"object" enum:"totp"`
	Secret string `json:"secret" doc:"To type into an authenticator. It is shown here and never again"`
	URI    string `json:"uri" doc:"The same as an otpauth address"`
	QR     string `json:"qr" doc:"The same as a picture, in SVG"`
}

type recoveryCodes struct {
	Object string   `json:"object" enum:"recovery_codes"`
	Codes  []string `json:"recovery_codes" doc:"Each replaces the second factor once. They are shown here and never again"`
}

type droppedTOTP struct {
	Object  string `json:"object" enum:"totp"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type (
	provedOutput        struct{ Body proved }
	totpOfferOutput     struct{ Body totpOffer }
	recoveryCodesOutput struct{ Body recoveryCodes }
	droppedTOTPOutput   struct{ Body droppedTOTP }
)

// Add adds the routes to a handler.
func (r SecondFactorRoutes) Add(h *rest.Handler) {
	r.addProofs(h)
	rest.Register(h, rest.Route{Person: true, Fresh: true}, openapi.Operation{
		OperationID: "begin-my-totp", Method: http.MethodPost, Path: "/users/me/totp",
		Summary: "Get a secret for one-time passwords, which are in force once they are confirmed", Tags: meTags,
		Errors: []int{http.StatusConflict},
	}, r.offer)
	rest.RegisterBody(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "confirm-my-totp", Method: http.MethodPost, Path: "/users/me/totp/confirm",
		Summary: "Turn one-time passwords on with one of them, and get ten recovery codes, once", Tags: meTags,
		Errors: []int{http.StatusConflict},
	}, r.confirmTOTP)
	rest.Register(h, rest.Route{Person: true, Fresh: true}, openapi.Operation{
		OperationID: "delete-my-totp", Method: http.MethodDelete, Path: "/users/me/totp",
		Summary: "Turn one-time passwords off", Tags: meTags,
		Errors: []int{http.StatusNotFound},
	}, r.drop)
	rest.Register(h, rest.Route{Person: true, Fresh: true}, openapi.Operation{
		OperationID: "create-my-recovery-codes", Method: http.MethodPost, Path: "/users/me/recovery-codes",
		Summary: "Get ten recovery codes in place of all others", Tags: meTags,
		Errors: []int{http.StatusConflict},
	}, r.newCodes)
}

// addProofs adds the routes that rotate the session's token.
func (r SecondFactorRoutes) addProofs(h *rest.Handler) {
	registerSession(h, rest.Route{PartialSession: true}, openapi.Operation{
		OperationID: "complete-sign-in", Method: http.MethodPost, Path: "/auth/totp",
		Summary: "Complete a sign-in with a one-time password or a recovery code", Tags: signInTags,
	}, func(ctx context.Context, x *rest.Exchange, b *secondFactorRequest) (*signedInOutput, error) {
		if (b.Code == "") == (b.RecoveryCode == "") {
			return nil, app.Invalid("code", "or `recovery_code` is needed, one of them")
		}
		n, err := r.Service.Complete(ctx, visitor(h, x), x.Key, accounts.SecondFactor{Code: b.Code, Recovery: b.RecoveryCode})
		if err != nil {
			return nil, err
		}
		return newSignedIn(h, x, &n), nil
	})
	registerSession(h, rest.Route{}, openapi.Operation{
		OperationID: "confirm-session", Method: http.MethodPost, Path: "/auth/confirm",
		Summary: "Prove anew who one is, for what needs a fresh proof", Tags: signInTags,
	}, func(ctx context.Context, x *rest.Exchange, b *confirmRequest) (*provedOutput, error) {
		if (b.Password == "") == (b.Code == "") {
			return nil, app.Invalid("password", "or `code` is needed, one of them")
		}
		n, err := r.Service.Reauthenticate(ctx, visitor(h, x), x.Key, accounts.Proof{Password: b.Password, Code: b.Code})
		return newProved(h, x, &n, err)
	})
	registerSession(h, rest.Route{}, openapi.Operation{
		OperationID: "change-my-password", Method: http.MethodPost, Path: "/users/me/password",
		Summary: "Change the password, which ends all other sessions", Tags: meTags,
	}, func(ctx context.Context, x *rest.Exchange, b *changePasswordRequest) (*provedOutput, error) {
		n, err := r.Service.ChangePassword(ctx, visitor(h, x), x.Key, b.Current, b.New)
		return newProved(h, x, &n, err)
	})
}

// newProved sets the new token of a confirmed session.
func newProved(h *rest.Handler, x *rest.Exchange, n *accounts.NewSession, err error) (*provedOutput, error) {
	if err != nil {
		return nil, err
	}
	setCookies(h, x, n)
	return &provedOutput{proved{Object: "session", Proved: true}}, nil
}

// registerSession adds a route for signed-in people whose handler sets cookies.
func registerSession[B, O any](h *rest.Handler, rt rest.Route, op openapi.Operation, handler func(ctx context.Context, x *rest.Exchange, body *B) (*O, error)) {
	rt.Person, rt.Body, rt.MaxBody = true, true, maxBody
	added := rest.RegisterRaw(h, rt, op, func(ctx context.Context, x *rest.Exchange, _ *struct{}) (*O, error) {
		var body B
		if err := rest.DecodeBody(x.Body, &body); err != nil {
			return nil, err
		}
		return handler(ctx, x, &body)
	})
	rest.DocumentBody[B](h, added, true)
}

func (r SecondFactorRoutes) offer(ctx context.Context, key *app.Key, _ *struct{}) (*totpOfferOutput, error) {
	o, err := r.Service.OfferTOTP(ctx, key)
	if err != nil {
		return nil, err
	}
	return &totpOfferOutput{totpOffer{Object: "totp", Secret: o.Secret, URI: o.URI, QR: o.QR}}, nil
}

func (r SecondFactorRoutes) confirmTOTP(ctx context.Context, key *app.Key, _ *struct{}, b *confirmTOTPRequest) (*recoveryCodesOutput, error) {
	codes, err := r.Service.ConfirmTOTP(ctx, key, b.Code)
	return newRecoveryCodes(codes, err)
}

func (r SecondFactorRoutes) newCodes(ctx context.Context, key *app.Key, _ *struct{}) (*recoveryCodesOutput, error) {
	codes, err := r.Service.NewRecoveryCodes(ctx, key)
	return newRecoveryCodes(codes, err)
}

func newRecoveryCodes(codes []string, err error) (*recoveryCodesOutput, error) {
	if err != nil {
		return nil, err
	}
	return &recoveryCodesOutput{recoveryCodes{Object: "recovery_codes", Codes: codes}}, nil
}

func (r SecondFactorRoutes) drop(ctx context.Context, key *app.Key, _ *struct{}) (*droppedTOTPOutput, error) {
	if err := r.Service.DropTOTP(ctx, key); err != nil {
		return nil, err
	}
	return &droppedTOTPOutput{droppedTOTP{Object: "totp", Deleted: true}}, nil
}
