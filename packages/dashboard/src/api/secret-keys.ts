import { endpoint } from './endpoint.ts'

export const listSecretKeys = endpoint('GET /v1/secret_keys')
export const createSecretKey = endpoint('POST /v1/secret_keys')
export const getSecretKey = endpoint('GET /v1/secret_keys/:id')
export const updateSecretKey = endpoint('PATCH /v1/secret_keys/:id')
export const rotateSecretKey = endpoint('POST /v1/secret_keys/:id/rotate')
export const revokeSecretKey = endpoint('POST /v1/secret_keys/:id/revoke')
