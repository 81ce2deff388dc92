/*
 * Opens an artifact only if it is signed, with libsodium:
 *
 *   cc -ffp-contract=off -I include examples/signed.c src/[a-z]*.c -lsodium -o signed
 *   signed monitor.emon monitor.emon.sig PUBLIC_KEY       exit code 0: ready for use, 1: not
 *
 * `edgemon sign` writes monitor.emon.sig and prints the public key, 64 hexadecimal digits. On a
 * device the key is a constant in flash that is write-protected as the boot loader is. With
 * Monocypher the callback is crypto_ed25519_check(signature, key, message, size).
 */
#include <edgemon/edgemon.h>

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

/* 0 if the signature is good. `context` is the public key. */
static int verify(void *context, const uint8_t signature[64], const void *message, size_t size) {
    return crypto_sign_verify_detached(signature, message, size, context);
}

/* The whole file in memory from malloc; NULL if it cannot be read. */
static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    long end = -1;
    if (fseek(file, 0, SEEK_END) == 0) {
        end = ftell(file);
    }
    void *bytes = end > 0 ? malloc((size_t)end) : NULL;
    if (bytes != NULL) {
        rewind(file);
        *size = fread(bytes, 1, (size_t)end, file);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    uint8_t key[crypto_sign_PUBLICKEYBYTES];
    size_t digits = 0, size = 0, signature_size = 0;
    if (argc != 4 || sodium_init() < 0 ||
        sodium_hex2bin(key, sizeof key, argv[3], 2 * sizeof key, NULL, &digits, NULL) != 0 ||
        digits != sizeof key) {
        fprintf(stderr, "usage: signed monitor.emon monitor.emon.sig PUBLIC_KEY\n");
        return 1;
    }
    void *artifact = read_file(argv[1], &size);
    uint8_t *signature = read_file(argv[2], &signature_size);
    em_monitor m;
    em_status status = EM_E_SIGNATURE;
    if (artifact != NULL && signature_size == crypto_sign_BYTES) {
        status = em_open_signed(&m, artifact, size, NULL, signature, verify, key);
    }
    printf("%s: %s\n", argv[1], em_status_text(status));
    free(signature);
    free(artifact);
    return status == EM_OK ? 0 : 1;
}
