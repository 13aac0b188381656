// The keep-alive timeout of client connections.

/**
 * Set again after every response, because waiting for a provider disables Bun's own timeout. Longer than the 60 seconds
 * after which most load balancers close an idle connection, so that the gateway never closes it first.
 */
export const KEEP_ALIVE_SECONDS = 75;
