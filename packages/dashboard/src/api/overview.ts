import type { Overview, OverviewQuery } from '@keyrail/contract/vendor/overview'
import { endpoint } from './endpoint.ts'

export const getOverview = endpoint<{ query: OverviewQuery; answer: Overview }>('GET', '/v1/overview')
