// Loads an SDK of OpenTelemetry before Keyrail, which then traces requests, transactions, lanes and mail. docs/operations.md says
// how to install what it imports. The exporter reads its settings, such as OTEL_EXPORTER_OTLP_ENDPOINT, from the environment.
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

const resource = resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'keyrail' })
const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })
trace.setGlobalTracerProvider(new TracerProvider({ resource, spanProcessors: [processor] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
