package keyrail

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// What the driver answers.

func verdictFields(verdict Verdict) map[string]any {
	if !verdict.IsValid() {
		return map[string]any{"code": verdict.Code}
	}
	fields := map[string]any{
		"code": verdict.Code, "key_id": verdict.KeyID, "tenant_id": verdict.TenantID, "env": verdict.Env,
		"scopes": verdict.Scopes(), "expires_at": nil, "limits": nil,
		"external_id": textOrNull(verdict.ExternalID), "meta": nil,
	}
	if !verdict.ExpiresAt.IsZero() {
		fields["expires_at"] = finiteOrNull(float64(verdict.ExpiresAt.UnixMilli()))
	}
	if verdict.limits != nil {
		fields["limits"] = json.RawMessage(verdict.limits.text)
	}
	if verdict.Meta != "" {
		fields["meta"] = json.RawMessage(verdict.Meta)
	}
	return fields
}

func limitFields(verdict LimitVerdict) map[string]any {
	fields := map[string]any{"allowed": verdict.Allowed, "code": verdict.Code, "status": nil}
	headers := verdict.Headers
	if !verdict.Allowed {
		p := limitProblem(&verdict)
		fields["status"], headers = p.status, p.header
	}
	fields["headers"] = lowerCase(headers)
	return fields
}

func gateFields(k *Keys, command *conformanceCommand) map[string]any {
	var options []ProtectOption
	if command.Scopes != nil {
		options = append(options, Scopes(command.Scopes...))
	}
	if command.Cost != nil {
		options = append(options, Cost(*command.Cost))
	}
	if command.Header != "" {
		options = append(options, Header(command.Header))
	}
	var reached any
	route := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached = KeyOf(r.Context()).KeyID })
	request := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(context.Background())
	for _, header := range command.Headers {
		request.Header.Add(header[0], header[1])
	}
	request.RemoteAddr = ""
	if command.IP != "" {
		request.RemoteAddr = net.JoinHostPort(command.IP, "50000")
	}
	recorder := httptest.NewRecorder()
	k.Protect(route, append(options, WithoutUsage())...).ServeHTTP(recorder, request)
	answer := map[string]any{
		"status": recorder.Code, "code": nil, "headers": lowerCase(recorder.Header()), "key_id": reached,
	}
	if recorder.Code != http.StatusOK {
		var body problemBody
		_ = json.Unmarshal(recorder.Body.Bytes(), &body)
		answer["code"] = body.Code
	}
	return answer
}

func lowerCase(headers http.Header) map[string]string {
	lower := map[string]string{}
	for name, values := range headers {
		lower[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return lower
}
