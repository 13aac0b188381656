// How long a connection may stay open between two requests.

/**
 * Set again after every answer, because the wait for a provider takes the runtime's own deadline away. Longer than the
 * 60 seconds after which most load balancers let go of a connection, so that it is never ours that closes under them.
 */
export const KEEP_ALIVE_SECONDS = 75;
