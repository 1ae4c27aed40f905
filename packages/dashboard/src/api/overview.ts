import { endpoint } from './endpoint.ts'

export const getOverview = endpoint('GET /v1/overview')
