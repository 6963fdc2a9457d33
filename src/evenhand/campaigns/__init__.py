"""Campaigns: evaluations by many, over days, kept in a store and provable afterwards."""

from evenhand.campaigns.campaign import Campaign
from evenhand.campaigns.tickets import NoTicket, Receipt, Ticket

__all__ = ["Campaign", "NoTicket", "Receipt", "Ticket"]
