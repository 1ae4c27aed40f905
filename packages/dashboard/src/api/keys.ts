import { endpoint } from './endpoint.ts'

export const listKeys = endpoint('GET /v1/keys')
export const createKey = endpoint('POST /v1/keys')
export const identifyKey = endpoint('POST /v1/keys/identify')
export const getKey = endpoint('GET /v1/keys/:id')
export const updateKey = endpoint('PATCH /v1/keys/:id')
export const rotateKey = endpoint('POST /v1/keys/:id/rotate')
export const revokeKey = endpoint('POST /v1/keys/:id/revoke')
export const disableKey = endpoint('POST /v1/keys/:id/disable')
export const enableKey = endpoint('POST /v1/keys/:id/enable')
export const getKeyUsage = endpoint('GET /v1/keys/:id/usage')
