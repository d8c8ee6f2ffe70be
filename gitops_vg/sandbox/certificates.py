"""A certificate authority and a server certificate for loopback, made for one run."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path


@dataclass(frozen=True)
class Certificates:
    """PEM files of one run."""

    authority: bytes
    server: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """For the server's side."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server, self.key)
        return context


def make_certificates(folder: Path) -> Certificates:
    """Write a new authority and a certificate for 127.0.0.1 and localhost into `folder`; keys are for the owner only."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC)

    def build(name: str, issuer: str, public: ec.EllipticCurvePublicKey, *, authority: bool) -> x509.CertificateBuilder:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=365))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        )
        if authority:
            usage = x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
                key_encipherment=False, data_encipherment=False, key_agreement=False,
                encipher_only=False, decipher_only=False,
            )  # fmt: skip
            return builder.add_extension(usage, critical=True)
        return builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )

    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = "gitops-vg sandbox authority"
    authority = build(authority_name, authority_name, authority_key.public_key(), authority=True).sign(
        authority_key, hashes.SHA256()
    )
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    server = (
        build("gitops-vg sandbox", authority_name, key.public_key(), authority=False)
        .add_extension(names, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    server_file, key_file = folder / "server.crt", folder / "server.key"
    server_file.write_bytes(server.public_bytes(pem))
    key_file.touch(mode=0o600)
    key_file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return Certificates(authority.public_bytes(pem), server_file, key_file)
