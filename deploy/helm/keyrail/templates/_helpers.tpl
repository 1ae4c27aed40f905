{{- define "keyrail.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "keyrail.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "keyrail.labels" -}}
{{ include "keyrail.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "keyrail.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion }}
{{- if hasPrefix "sha256:" $tag }}{{ .Values.image.repository }}@{{ $tag }}{{ else }}{{ .Values.image.repository }}:{{ $tag }}{{ end }}
{{- end }}

{{/* What the pods of the service and of the migration share. */}}
{{- define "keyrail.pod" -}}
automountServiceAccountToken: false
{{- with include "keyrail.serviceAccount" . }}
serviceAccountName: {{ . }}
{{- end }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
{{- if not .Values.openshift }}
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
{{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  - name: secrets
    secret:
      secretName: {{ required "existingSecret: name the Secret with the URL of the database and the encryption key" .Values.existingSecret }}
      defaultMode: 0440
      items: {{- include "keyrail.secrets" (list .Values.secretKeys "keyrail.secretItem") | nindent 8 }}
{{- with .Values.tls.existingSecret }}
  - name: tls
    secret:
      secretName: {{ . }}
      defaultMode: 0440
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{/* Empty: the account `default`. */}}
{{- define "keyrail.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "keyrail.name" .) }}{{ else }}{{ .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "keyrail.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* What their containers share. */}}
{{- define "keyrail.container" -}}
name: keyrail
image: {{ include "keyrail.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{- include "keyrail.confined" . | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  - name: secrets
    mountPath: /run/secrets/keyrail
    readOnly: true
{{- if .Values.tls.existingSecret }}
  - name: tls
    mountPath: /run/secrets/keyrail-tls
    readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- with .Values.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
env:
{{- if .Values.tls.existingSecret }}
  - name: SERVICE_TLS_CERT_FILE
    value: /run/secrets/keyrail-tls/tls.crt
  - name: SERVICE_TLS_KEY_FILE
    value: /run/secrets/keyrail-tls/tls.key
{{- end }}
  - name: SERVICE_DRAIN_DELAY_S
    value: {{ .Values.drainDelaySeconds | quote }}
{{- if .Values.metrics.enabled }}
  - name: SERVICE_METRICS_PORT
    value: '9464'
{{- end }}
{{- include "keyrail.secrets" (list .Values.secretKeys "keyrail.secretVariable") | nindent 2 }}
{{- if not (hasKey .Values.settings "SERVICE_TRUST_PROXY") }}
  - name: SERVICE_TRUST_PROXY
    value: {{ include "keyrail.trustedProxies" . | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
  - name: {{ $name }}
    {{- /* Helm reads numbers as floats, and prints large ones with an exponent. */}}
    value: {{ (kindIs "float64" $value | ternary (printf "%.0f" (float64 $value)) ($value | toString)) | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{/*
The context of a pod that works as the login that owns the tables, and serves nothing. Of the Secret it gets the URL of that login,
and the key of the list where there is one. An account that the release makes is not there before it.
*/}}
{{- define "keyrail.asOwner" -}}
{{- $root := first . }}
{{- $owner := $root.Values.secretKeys.ownerUrl | default $root.Values.secretKeys.databaseUrl }}
{{- $direct := ternary "" $root.Values.secretKeys.databaseDirectUrl (ne $root.Values.secretKeys.ownerUrl "") }}
{{- $keys := dict "databaseUrl" $owner "databaseDirectUrl" $direct }}
{{- $values := set (set (deepCopy $root.Values) "secretKeys" (merge $keys (last .))) "tls" dict }}
{{- if $root.Values.serviceAccount.create }}{{ $values = set $values "serviceAccount" (dict "create" false "name" "") }}{{ end }}
{{- $values | toYaml }}
{{- end }}

{{/* How many connections a pod opens at most: those of its pool, and 14 more. */}}
{{- define "keyrail.connectionsOfPod" -}}
{{- add (index .Values.settings "SERVICE_DATABASE_POOL" | default 6) 14 }}
{{- end }}

{{/* How many pods there are at most, while they are replaced too. A part of a pod is a pod. */}}
{{- define "keyrail.podsMax" -}}
{{- $pods := ternary .Values.autoscaling.maxReplicas .Values.replicas .Values.autoscaling.enabled | int }}
{{- $surge := .Values.strategy.maxSurge | toString }}
{{- if hasSuffix "%" $surge }}{{ add $pods (ceil (divf (mulf $pods (trimSuffix "%" $surge | float64)) 100)) }}{{ else }}{{ add $pods (int $surge) }}{{ end }}
{{- end }}

{{/* How many proxies are trusted if the values do not say it: none where the pods may be reached past an ingress. */}}
{{- define "keyrail.trustedProxies" -}}
{{- $isPublic := eq (toString .Values.networkPolicy.ingressFrom) "everywhere" }}
{{- if or .Values.tls.existingSecret $isPublic (not .Values.networkPolicy.enabled) }}0{{ else }}1{{ end }}
{{- end }}

{{/* What a template makes of each setting that is read from a key of the Secret. A pod gets no other key. */}}
{{- define "keyrail.secrets" -}}
{{- $template := last . }}
{{- with first . }}
{{- include $template (list "DATABASE_URL_FILE" .databaseUrl) }}
{{- include $template (list "SERVICE_ENCRYPTION_KEY_FILE" .encryptionKey) }}
{{- include $template (list "DATABASE_DIRECT_URL_FILE" .databaseDirectUrl) }}
{{- include $template (list "SERVICE_BOOTSTRAP_TOKEN_FILE" .bootstrapToken) }}
{{- include $template (list "SERVICE_MAIL_URL_FILE" .mailUrl) }}
{{- include $template (list "REDIS_URL_FILE" .redisUrl) }}
{{- include $template (list "SERVICE_SIGNING_KEY_FILE" .signingKey) }}
{{- end }}
{{- end }}

{{- define "keyrail.secretVariable" -}}
{{- $key := last . }}
{{- if $key }}
- name: {{ first . }}
  value: /run/secrets/keyrail/{{ $key }}
{{- end }}
{{- end }}

{{- define "keyrail.secretItem" -}}
{{- $key := last . }}
{{- if $key }}
- key: {{ $key }}
  path: {{ $key }}
{{- end }}
{{- end }}
