/* The greeting of two processes.
 *
 *     server  "MICA", version, whether it has a secret, 2 zeros, its nonce (32)
 *     client  "MICA", version, whether it has a secret, 2 zeros, its nonce (32), its proof (32)
 *     server  "MICA", version, its answer, 2 zeros, its proof (32)
 *
 * A proof is the HMAC of the role, the purpose and both nonces. The nonces are new every time, so a
 * proof that was heard is of no use; the roles differ, so a proof cannot be sent back to who made
 * it. The client proves first: a stranger is told nothing that was made with the secret. A side
 * that has a secret never goes on without the other's proof. Where there is no secret the proofs
 * are the same sums under an empty key: they check the version and the purpose.
 */
#include <string.h>

#include "base/hmac.h"
#include "base/platform.h"
#include "io/door.h"

enum { VERSION = 2, NONCE = 32, HEAD = 8 };
enum { FIRST = HEAD + NONCE, SECOND = HEAD + NONCE + MICA_SHA256_BYTES };
enum { THIRD = HEAD + MICA_SHA256_BYTES };
enum { WELCOME = 1, NEEDS_SECRET = 2, HAS_NO_SECRET = 3, WRONG_PROOF = 4 };

static const char word[4] = {'M', 'I', 'C', 'A'};

static void put_head(uint8_t *bytes, uint8_t flag) {
    memcpy(bytes, word, sizeof word);
    bytes[4] = VERSION;
    bytes[5] = flag;
    bytes[6] = bytes[7] = 0;
}

static void prove(const mica_door *door, const char *role, const char *purpose,
                  const uint8_t *server_nonce, const uint8_t *client_nonce,
                  uint8_t proof[MICA_SHA256_BYTES]) {
    mica_hmac mac;
    mica_hmac_init(&mac, door->secret ? door->secret : (const uint8_t *)"", door->n_secret);
    mica_hmac_add(&mac, role, strlen(role) + 1);
    mica_hmac_add(&mac, purpose, strlen(purpose) + 1);
    mica_hmac_add(&mac, server_nonce, NONCE);
    mica_hmac_add(&mac, client_nonce, NONCE);
    mica_hmac_finish(&mac, proof);
}

/* The head of each part is checked before the rest is waited for. */
static mica_status take(const mica_socket *s, uint8_t *bytes, size_t n, double deadline) {
    size_t got;
    MICA_TRY(mica_socket_read(s, bytes, HEAD, deadline, &got));
    if (got < HEAD) return MICA_ERROR(MICA_UNAVAILABLE, "[peer] it ended the connection");
    if (memcmp(bytes, word, sizeof word) != 0)
        return MICA_ERROR(MICA_DATA_LOSS, "[peer] the greeting is not that of a Mica process");
    if (bytes[4] != VERSION || bytes[6] || bytes[7])
        return MICA_ERROR(MICA_DATA_LOSS, "[peer] it greets in version %d, not %d", bytes[4],
                          VERSION);
    MICA_TRY(mica_socket_read(s, bytes + HEAD, n - HEAD, deadline, &got));
    if (got < n - HEAD) return MICA_ERROR(MICA_UNAVAILABLE, "[peer] it ended the connection");
    return NULL;
}

static mica_status refusal(int answer) {
    const char *why = "the secrets differ, or what is wanted of the connection";
    if (answer == NEEDS_SECRET) why = "a secret is needed (MICA_CLUSTER_SECRET_FILE)";
    if (answer == HAS_NO_SECRET) why = "one side has a secret and the other has none";
    return MICA_ERROR(MICA_FAILED_PRECONDITION, "[peer] refused: %s", why);
}

static mica_status greet_client(const mica_door *door, const mica_socket *s, const char *purpose,
                                double deadline) {
    uint8_t first[FIRST], second[SECOND], third[THIRD] = {0}, wanted[MICA_SHA256_BYTES];
    put_head(first, door->secret != NULL);
    MICA_TRY(mica_random_bytes(first + HEAD, NONCE));
    MICA_TRY(mica_socket_write(s, first, sizeof first, deadline));
    MICA_TRY(take(s, second, sizeof second, deadline));
    const uint8_t *nonce = second + HEAD;
    prove(door, "client", purpose, first + HEAD, nonce, wanted);
    int answer = WELCOME;
    if (second[5] != (door->secret != NULL))
        answer = door->secret ? NEEDS_SECRET : HAS_NO_SECRET;
    else if (!mica_secret_equal(wanted, nonce + NONCE, sizeof wanted))
        answer = WRONG_PROOF;
    put_head(third, (uint8_t)answer);
    if (answer == WELCOME) prove(door, "server", purpose, first + HEAD, nonce, third + HEAD);
    MICA_TRY(mica_socket_write(s, third, sizeof third, deadline));
    return answer == WELCOME ? NULL : refusal(answer);
}

static mica_status greet_server(const mica_door *door, const mica_socket *s, const char *purpose,
                                double deadline) {
    uint8_t first[FIRST], second[SECOND] = {0}, third[THIRD], wanted[MICA_SHA256_BYTES];
    uint8_t *nonce = second + HEAD;
    MICA_TRY(take(s, first, sizeof first, deadline));
    put_head(second, door->secret != NULL);
    MICA_TRY(mica_random_bytes(nonce, NONCE));
    /* Nothing is proved to a server that would not prove itself, and no empty key to one that has
     * a secret. */
    bool is_alike = first[5] == (door->secret != NULL);
    if (is_alike) prove(door, "client", purpose, first + HEAD, nonce, nonce + NONCE);
    MICA_TRY(mica_socket_write(s, second, sizeof second, deadline));
    if (!is_alike) return refusal(door->secret ? HAS_NO_SECRET : NEEDS_SECRET);
    MICA_TRY(take(s, third, sizeof third, deadline));
    if (third[5] != WELCOME) return refusal(third[5]);
    prove(door, "server", purpose, first + HEAD, nonce, wanted);
    return mica_secret_equal(wanted, third + HEAD, sizeof wanted) ? NULL : refusal(WRONG_PROOF);
}

mica_status mica_peer_greet(const mica_peer *peer, bool is_server, const char *purpose) {
    MICA_GIVEN(peer, purpose);
    MICA_GIVEN(peer->door);
    const mica_door *door = peer->door;
    mica_socket s = io_socket_of(peer);
    double deadline = mica_clock_seconds() + door->limits.greeting_seconds;
    return (is_server ? greet_client : greet_server)(door, &s, purpose, deadline);
}
